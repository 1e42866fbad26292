import { type Delimiter, Delimiters } from '#lib/mail/parts/delimiters.ts'
import { MAX_HEADERS, MAX_PARTS } from '#lib/mail/parts/limits.ts'
import { type PartHeader, readPartHeader } from '#lib/mail/parts/part_header.ts'
import { Base64Writer, base64LinesLength } from './base64.ts'
import { isSevenBit } from './seven_bit.ts'

const CRLF = Buffer.from('\r\n')
/** Encodings that do not change the data (RFC 2045 section 6.2), except binary, which `withCrlf` may have damaged. */
const PLAIN = /^(?:7bit|8bit)$/
/** Types that may not be encoded (RFC 2045 section 6.4). */
const COMPOSITE = /^(?:message|multipart)\//
/** A signature covers the bytes (RFC 1847), and parts of a digest are messages by default (RFC 2046 section 5.1.5). */
const FIXED = /^multipart\/(?:signed|encrypted|digest)$/

/** Lines that begin with hyphens are compared with the boundaries; normal messages have few of them. */
const HYPHENS = '\n--'
const MAX_HYPHENS = 100_000

class Unencodable extends Error {}

/**
 * Converts a message of CRLF lines, including the last, to 7bit: each leaf that is not 7bit becomes base64, also in messages
 * within it. Returns null if that is impossible. Linear in the length of the message.
 */
export function encodeLeaves(raw: Buffer): Buffer | null {
  try {
    return new LeafEncoder(raw).run()
  } catch (error) {
    if (error instanceof Unencodable) return null
    throw error
  }
}

class LeafEncoder {
  readonly #raw: Buffer
  readonly #delimiters: Delimiters
  readonly #pieces: Buffer[] = []
  /** Total bytes of the headers of all parts. */
  #headers = 0

  constructor(raw: Buffer) {
    this.#raw = raw
    this.#delimiters = new Delimiters(raw)
  }

  run(): Buffer {
    this.#countHyphens()
    let at: number | null = 0
    for (let count = 0; count < MAX_PARTS; count++) {
      at = this.#writePart(at, count === 0)
      if (at === null) return Buffer.concat(this.#pieces)
    }
    throw new Unencodable()
  }

  #countHyphens(): void {
    let count = 0
    for (let at = this.#raw.indexOf(HYPHENS); at !== -1; at = this.#raw.indexOf(HYPHENS, at + 1)) {
      if (++count > MAX_HYPHENS) throw new Unencodable()
    }
  }

  /** Writes the part that begins at `start`; returns where the next one begins, or null after the last one. */
  #writePart(start: number, isRoot: boolean): number | null {
    const { header, body } = readPartHeader(this.#raw, start, this.#delimiters, { isRoot, isDigest: false })
    const head = this.#raw.subarray(start, body)
    this.#headers += head.length
    if (this.#headers > MAX_HEADERS || !isSevenBit(head) || FIXED.test(header.type)) throw new Unencodable()
    if (header.type === 'message/rfc822' && PLAIN.test(encodingOf(header))) {
      this.#pieces.push(withEncoding(head, header, '7bit'))
      return body
    }
    const isMultipart = header.boundary !== null && PLAIN.test(encodingOf(header))
    if (isMultipart) this.#delimiters.open(header.boundary as string)
    const found = this.#delimiters.find(body)
    const content = this.#raw.subarray(body, found?.start)
    if (isMultipart && found?.level === this.#delimiters.depth - 1) {
      // Text before the parts is never shown, so it is dropped if it is not 7bit.
      this.#pieces.push(withEncoding(head, header, '7bit'), ...(isSevenBit(content) ? [content] : []))
    } else this.#writeLeaf(head, header, content, found !== null)
    return found && this.#writeDelimiters(found)
  }

  /** `isDelimited`: the last line end belongs to the delimiter line after it (RFC 2046 section 5.1.1). */
  #writeLeaf(head: Buffer, header: PartHeader, content: Buffer, isDelimited: boolean): void {
    const encoding = encodingOf(header)
    if (isSevenBit(content)) {
      this.#pieces.push(withEncoding(head, header, encoding === '8bit' ? '7bit' : encoding), content)
      return
    }
    if (!PLAIN.test(encoding) || COMPOSITE.test(header.type)) throw new Unencodable()
    const end = isDelimited ? content.length - CRLF.length : content.length
    this.#pieces.push(withEncoding(head, header, 'base64'), base64Of(content.subarray(0, end)))
  }

  /** Writes delimiter lines up to one that begins a part. Other text between delimiter lines is never shown. */
  #writeDelimiters(first: Delimiter): number | null {
    for (let found: Delimiter | null = first; found; found = this.#delimiters.find(found.next)) {
      const { start, next, level, isClose } = found
      const line = this.#raw.subarray(start, next)
      if (!isSevenBit(line)) throw new Unencodable()
      this.#pieces.push(line)
      this.#delimiters.leave(level, isClose)
      if (!isClose) return next
    }
    return null
  }
}

function encodingOf({ fields }: PartHeader): string {
  return fields.find(({ name }) => name === 'content-transfer-encoding')?.value.toLowerCase() || '7bit'
}

/** Returns the header with this encoding. */
function withEncoding(head: Buffer, header: PartHeader, encoding: string): Buffer {
  if (encodingOf(header) === encoding) return head
  const others = header.fields.filter(({ name }) => name !== 'content-transfer-encoding')
  const field = Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n\r\n`)
  return Buffer.concat([...others.map(({ raw }) => raw), field])
}

function base64Of(content: Buffer): Buffer {
  const lines = Buffer.allocUnsafe(base64LinesLength(content.length))
  const writer = new Base64Writer(lines, 0)
  writer.write(content)
  writer.finish()
  return lines
}
