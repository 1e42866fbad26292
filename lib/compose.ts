import { Piscina } from 'piscina'
import { type DkimKey, signMessage } from './dkim.ts'
import { type ComposedMessage, composeMessage, type Message, serializeMessage } from './message.ts'

/** A larger message is composed in a thread: on the main thread it would hold up every connection. */
const MAIN_THREAD_LIMIT = 256 * 1024

let threads: Piscina | null = null

/** The finished bytes of a message, with a signature on top when there is a key. */
export async function composeAndSign(message: Message, key: DkimKey | null): Promise<Buffer> {
  const composed = await compose(message)
  return serializeMessage(composed, key ? [await signMessage(composed, key, message.date)] : [])
}

async function compose(message: Message): Promise<ComposedMessage> {
  const size = (message.html?.length ?? 0) + (message.text?.length ?? 0)
  if (size <= MAIN_THREAD_LIMIT) return composeMessage(message)
  threads ??= new Piscina<Message, ComposedMessage>({
    filename: new URL('compose_thread.ts', import.meta.url).href,
    maxThreads: 2,
    idleTimeout: 1_000,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  const { fields, body } = await threads.run(message)
  // Bytes come back from a thread as a plain Uint8Array.
  return { fields, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) }
}
