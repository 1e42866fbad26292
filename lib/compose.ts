import { Piscina } from 'piscina'
import { assembleMessage } from './assemble.ts'
import { type DkimKey, signMessage } from './dkim.ts'
import {
  composeMessage,
  layOutMessage,
  type Message,
  type MessageHead,
  type Part,
  serializeMessage,
} from './message.ts'

/** A larger text is composed in a thread: on the main thread it would hold up every connection. */
const MAIN_THREAD_LIMIT = 256 * 1024

let threads: Piscina | null = null

/** The finished bytes of a message, with a signature of each key on top. */
export async function composeAndSign(message: Message, keys: DkimKey[]): Promise<Buffer> {
  const { attachments, date } = message
  const isLong = (message.html?.length ?? 0) + (message.text?.length ?? 0) > MAIN_THREAD_LIMIT
  if (isLong || attachments.length > 0) {
    const layout = isLong ? await layOutInThread(message) : layOutMessage(message)
    return assembleMessage(layout, attachments, keys, date)
  }
  const composed = composeMessage(message)
  return serializeMessage(composed, await signMessage(composed, keys, date))
}

function layOutInThread(message: Message): Promise<Part> {
  threads ??= new Piscina<MessageHead, Part>({
    filename: new URL('compose_thread.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 2,
    idleTimeout: 10_000,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  // A function cannot be copied to a thread.
  return threads.run({ ...message, attachments: message.attachments.map(({ read, ...head }) => head) })
}
