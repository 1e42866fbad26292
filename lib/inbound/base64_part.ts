import { Transform, type TransformCallback } from 'node:stream'

/** Two words in one line: base64 has no blanks in a line. */
const TEXT = /^\s*\S+[ \t]+\S/
const OTHERS = /[^A-Za-z0-9+/=]+/g
const BLANKS = /^[ \t\r\n]*$/
const GROUPS = /^[A-Za-z0-9+/]+={0,2}$/
/** Base64 of four or more bytes hardly ever looks like it. */
const WORD = /^[A-Z]?[a-z]+$|^[A-Z]+$/

/** What a decoder left out or took for something else, in plain words. */
export type Note = (note: string) => void

/**
 * Decodes base64 as it arrives (RFC 2045 6.8). Behind its padding it goes on with lines that are base64 themselves, as
 * some senders join what was encoded in pieces. Words behind the padding, which mailing lists add to a text, are part of
 * it in a text; in a file they are left out with a note. A text that only says that it is base64 stays as it is.
 */
export class Base64PartDecoder extends Transform {
  readonly #isText: boolean
  readonly #note: Note
  #isBase64: boolean | null = null
  #letters = ''
  /** Everything from the first padding on. */
  #tail: Buffer[] = []

  constructor(isText: boolean, note: Note) {
    super()
    this.#isText = isText
    this.#note = note
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#isBase64 ??= !this.#isText || !TEXT.test(chunk.toString('latin1', 0, 1_000))
    if (this.#isBase64) this.#read(chunk)
    else this.push(chunk)
    done()
  }

  override _flush(done: TransformCallback): void {
    const tail = Buffer.concat(this.#tail)
      .toString('latin1')
      .replace(/^=[=\s]{0,1000}/, '')
    this.#end()
    const words = tail.length === 0 ? '' : this.#decodeLines(tail)
    if (words && this.#isText) this.push(Buffer.from(`\n${words}`, 'latin1'))
    else if (words) this.#note('There are words behind the base64 of a file: they are in the raw message only.')
    done()
  }

  #read(chunk: Buffer): void {
    const padding = this.#tail.length > 0 ? 0 : chunk.indexOf(0x3d)
    if (padding === -1) this.#decode(chunk.toString('latin1'))
    else {
      if (padding > 0) this.#decode(chunk.toString('latin1', 0, padding))
      this.#tail.push(chunk.subarray(padding))
    }
  }

  /** Decodes lines up to the first that is not base64; returns that one and all that follow. */
  #decodeLines(text: string): string {
    const bytes = Buffer.allocUnsafe(text.length)
    let length = 0
    let words = ''
    for (let at = 0; at < text.length; ) {
      const lineFeed = text.indexOf('\n', at)
      const next = lineFeed === -1 ? text.length : lineFeed + 1
      const line = text.slice(at, next).trim()
      if (line !== '' && (line.length % 4 !== 0 || !GROUPS.test(line) || WORD.test(line))) {
        words = text.slice(at)
        break
      }
      length += bytes.write(line, length, 'base64')
      at = next
    }
    this.push(bytes.subarray(0, length))
    return words
  }

  #decode(text: string): void {
    const letters = this.#letters + text.replace(OTHERS, found => this.#skip(found))
    const whole = letters.length - (letters.length % 4)
    this.#letters = letters.slice(whole)
    if (whole > 0) this.push(Buffer.from(letters.slice(0, whole), 'base64'))
  }

  #skip(found: string): string {
    if (!BLANKS.test(found)) this.#note('The base64 of a part has characters that are not base64: they were skipped.')
    return ''
  }

  /** The group that the padding or the end of the part completes. */
  #end(): void {
    if (this.#letters.length === 1) this.#note('The base64 of a part was cut short.')
    this.push(Buffer.from(this.#letters, 'base64'))
    this.#letters = ''
  }
}
