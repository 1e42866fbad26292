import { Readable } from 'node:stream'
import { move, Piscina } from 'piscina'
import { MESSAGE, typeOfFile } from '#lib/mail/mime/attachment.ts'
import { embedMessage } from '#lib/mail/mime/embedded_message.ts'
import { assembleMessage } from './assemble.ts'
import { type DkimKey, signMessage } from './dkim.ts'
import {
  composeMessage,
  layOutMessage,
  type Message,
  type MessageAttachment,
  type MimePart,
  serializeMessage,
} from './message.ts'

/** Texts longer than this are composed in a thread: on the main thread they would block all connections. */
const MAIN_THREAD_LIMIT = 256 * 1024

/** Messages larger than this are embedded in a thread: one with only header fields would take 50 ms. */
const EMBED_LIMIT = 32 * 1024

let threads: Piscina | null = null

/** Returns the complete bytes of a message, with a signature of each key at the top. */
export async function composeAndSign(message: Message, keys: DkimKey[]): Promise<Buffer> {
  const { date } = message
  const attachments: MessageAttachment[] = []
  // One after the other, since each takes several times its length while it is written.
  for (const attachment of message.attachments) attachments.push(await embed(attachment))
  const isLong = (message.html?.length ?? 0) + (message.text?.length ?? 0) > MAIN_THREAD_LIMIT
  if (isLong || attachments.length > 0) {
    const layout = isLong
      ? await layOutInThread({ ...message, attachments })
      : layOutMessage({ ...message, attachments })
    return assembleMessage(layout, attachments, keys, date)
  }
  const composed = composeMessage(message)
  return serializeMessage(composed, await signMessage(composed, keys, date))
}

function layOutInThread(message: Message): Promise<MimePart> {
  // Functions cannot be copied to a thread.
  return openThreads().run({ ...message, attachments: message.attachments.map(({ read, ...head }) => head) })
}

/**
 * Returns a message file in lines that can be sent embedded; returns the attachment unchanged if that is impossible, or it is
 * another file.
 */
async function embed(attachment: MessageAttachment): Promise<MessageAttachment> {
  if (typeOfFile(attachment.content_type, attachment.filename) !== MESSAGE) return attachment
  const bytes = await readWhole(attachment)
  if (!bytes) return attachment
  const embedded: Uint8Array<ArrayBuffer> | null =
    bytes.length > EMBED_LIMIT ? await openThreads().run(move(bytes), { name: 'embed' }) : embedMessage(bytes)
  if (!embedded) return attachment
  const lines = Buffer.from(embedded.buffer, embedded.byteOffset, embedded.length)
  return { ...attachment, is_embedded: true, size: lines.length, read: () => Readable.from([lines]) }
}

/** Returns null if it has more or fewer bytes than it should, which `assembleMessage` reports. */
async function readWhole({ size, read }: MessageAttachment): Promise<Buffer<ArrayBuffer> | null> {
  // Not allocated from the pool, since the whole buffer is moved to the thread.
  const bytes = Buffer.allocUnsafeSlow(size)
  let length = 0
  for await (const chunk of read()) {
    if (length + chunk.length > size) return null
    length += chunk.copy(bytes, length)
  }
  return length === size ? bytes : null
}

function openThreads(): Piscina {
  threads ??= new Piscina({
    filename: new URL('./compose_thread.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 2,
    idleTimeout: 10_000,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  return threads
}
