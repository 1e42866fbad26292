import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Base64Writer } from '#lib/mail/mime/base64.ts'
import { relaxedLines } from '#lib/mail/mime/canonical.ts'
import { type DkimKey, hashBody, signatureLengths, signFields } from './dkim.ts'
import { type MessageAttachment, type MimePart, serializeHeader } from './message.ts'

/** Bytes written and hashed per turn of the event loop, which take some milliseconds. */
const TURN_BYTES = 512 * 1024
/** The same for text, which takes more time per byte: its white space is brought into canonical form. */
const TURN_TEXT_BYTES = 64 * 1024

const LF = 10

/**
 * Returns the complete bytes of a message of any size, in a single buffer: attachments are encoded into it as they are read. The
 * signatures, which need the hash of the body, get room reserved before it. Rejects if an attachment has fewer or more bytes than
 * its `size`, and if its `read` does.
 */
export async function assembleMessage(
  { fields, body }: MimePart,
  attachments: MessageAttachment[],
  keys: DkimKey[],
  date: Date,
): Promise<Buffer> {
  const header = serializeHeader(fields)
  const room = signatureLengths(fields, keys, date).reduce((sum, length) => sum + length + 2, 0)
  const start = room + header.length
  const length = body.reduce((sum, piece) => sum + piece.length, start)
  // Not allocated from the pool, all of which a slice would keep in memory. Every byte is written below.
  const message = Buffer.allocUnsafeSlow(length)
  header.copy(message, room)
  const writer = new BodyWriter(message, start)
  for (const piece of body) {
    if (typeof piece === 'string') await writer.writeText(Buffer.from(piece, 'latin1'))
    else if (piece instanceof Uint8Array) await writer.writeText(piece)
    else await writer.writeFile(attachments[piece.attachment] as MessageAttachment)
  }
  if (writer.end !== length) throw new Error(`the message has ${writer.end} bytes instead of ${length}`)
  if (keys.length === 0) return message
  const signatures = await signFields(fields, writer.hash(), keys, date)
  const signature = Buffer.from(signatures.map(field => `${field}\r\n`).join(''), 'latin1')
  if (signature.length !== room) throw new Error(`the signatures have ${signature.length} bytes instead of ${room}`)
  signature.copy(message)
  return message
}

/** Writes a body and hashes it, a part per turn of the event loop. */
class BodyWriter {
  end: number
  readonly #message: Buffer
  readonly #start: number
  readonly #hash = createHash('sha256')
  #hashed: number
  /** End of the last text. After it is base64, which is its own canonical form. */
  #textEnd: number

  constructor(message: Buffer, start: number) {
    this.#message = message
    this.#start = start
    this.end = start
    this.#hashed = start
    this.#textEnd = start
  }

  async writeText({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): Promise<void> {
    const text = Buffer.from(buffer, byteOffset, length)
    for (let start = 0; start < text.length; start += TURN_BYTES) {
      this.end += text.copy(this.#message, this.end, start, start + TURN_BYTES)
      this.#textEnd = this.end
      await this.#hashWritten()
    }
  }

  async writeFile(attachment: MessageAttachment): Promise<void> {
    if (!attachment.is_embedded) return this.#writeBase64(attachment)
    for await (const lines of attachment.read()) await this.writeText(lines as Buffer<ArrayBuffer>)
  }

  async #writeBase64({ filename, size, read }: MessageAttachment): Promise<void> {
    const base64 = new Base64Writer(this.#message, this.end)
    let received = 0
    for await (const chunk of read()) {
      received += chunk.length
      if (received > size) throw new Error(`attachment ${JSON.stringify(filename)} has more than its ${size} bytes`)
      for (let start = 0; start < chunk.length; start += TURN_BYTES) {
        base64.write(chunk.subarray(start, start + TURN_BYTES))
        this.end = base64.end
        await this.#hashWritten()
      }
    }
    if (received < size) {
      throw new Error(`attachment ${JSON.stringify(filename)} has ${received} bytes instead of ${size}`)
    }
    base64.finish()
    this.end = base64.end
  }

  /**
   * Returns the same as `hashBody`. A body ends in one line break, since the last line of a multipart or of base64 is not empty.
   */
  hash(): string {
    this.#update(this.end)
    const body = this.#message.subarray(this.#start, this.end)
    const isEndedOnce = /[^\r\n]\r\n$/.test(body.toString('latin1', body.length - 3))
    return isEndedOnce ? this.#hash.digest('base64') : hashBody(body)
  }

  async #hashWritten(): Promise<void> {
    for (;;) {
      const length = this.#hashed < this.#textEnd ? TURN_TEXT_BYTES : TURN_BYTES
      if (this.end - this.#hashed < length) return
      // Hashes whole lines, each of which has a canonical form of its own. Longer lines, which no message has, are hashed at the
      // end.
      const lines = this.#message.lastIndexOf(LF, this.#hashed + length - 1) + 1
      if (lines <= this.#hashed) return
      this.#update(lines)
      await turn()
    }
  }

  #update(end: number): void {
    const lines = this.#message.subarray(this.#hashed, end)
    this.#hash.update(this.#hashed < this.#textEnd ? relaxedLines(lines) : lines)
    this.#hashed = end
  }
}

let turns: Promise<void> = Promise.resolve()

/** Waits for a turn of the event loop that no other message waits for, so that all messages being assembled take turns. */
function turn(): Promise<void> {
  turns = turns.then(() => nextTurn())
  return turns
}
