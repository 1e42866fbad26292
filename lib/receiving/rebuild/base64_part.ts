import { Transform, type TransformCallback } from 'node:stream'

const BLANK = /[ \t\r\n]+/g
const OTHER = /[^A-Za-z0-9+/]/
const OTHERS = /[^A-Za-z0-9+/]+/g
const BLANKS = /^[ \t\r\n]*$/
const GROUPS = /^[A-Za-z0-9+/]+={0,2}$/
/** Words, which base64 of four or more bytes hardly ever resembles. */
const WORD = /^[A-Z]?[a-z]+$|^[A-Z]+$/
const TWO_WORDS = /[^\s=][ \t]+\S/g
/** A line of base64 has 76 characters. Longer ones are decoded before they end. */
const MAX_REST = 10_000

/** Records in plain words what was left out or misread. */
export type Note = (note: string) => void

/**
 * Decodes base64 as it arrives (RFC 2045 6.8). After its padding it continues with lines that are base64, since some senders join
 * pieces that were encoded separately. Words after the base64, which mailing lists append, become part of a text; in a file they
 * are left out with a note. A part that begins with words is not base64, whatever its header says, and stays as it is.
 */
export class Base64PartDecoder extends Transform {
  readonly #isText: boolean
  readonly #note: Note
  #isBase64: boolean | null = null
  #rest = ''
  #letters = ''
  /** Everything from the first padding or the first words on. */
  #tail: string[] = []

  constructor(isText: boolean, note: Note) {
    super()
    this.#isText = isText
    this.#note = note
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const text = this.#rest + chunk.toString('latin1')
    const end = endOfLines(text)
    this.#rest = text.slice(end)
    if (end > 0) this.#read(text.slice(0, end))
    done()
  }

  override _flush(done: TransformCallback): void {
    this.#read(this.#rest)
    this.#end()
    const tail = this.#tail.join('').replace(/^=[=\s]{0,1000}/, '')
    const words = tail === '' ? '' : this.#decodeLines(tail)
    if (words && this.#isText) this.push(Buffer.from(`\n${words}`, 'latin1'))
    else if (words) this.#note('Text after the base64 of a file was left out: it is only in the raw message.')
    done()
  }

  #read(text: string): void {
    if (this.#tail.length > 0) {
      this.#tail.push(text)
      return
    }
    const words = findWords(text)
    if (!BLANKS.test(text)) this.#isBase64 ??= words === -1 || !BLANKS.test(text.slice(0, words))
    if (this.#isBase64 === false) {
      this.push(Buffer.from(text, 'latin1'))
      return
    }
    const padding = text.indexOf('=')
    const stop = Math.min(...[words, padding, text.length].filter(position => position !== -1))
    this.#decode(text.slice(0, stop))
    if (stop < text.length) this.#tail.push(text.slice(stop))
  }

  /** Decodes lines up to the first that is not base64; returns that line and all after it. */
  #decodeLines(text: string): string {
    const bytes = Buffer.allocUnsafe(text.length)
    let length = 0
    let words = ''
    for (let at = 0; at < text.length; ) {
      const next = nextLine(text, at)
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
    let letters = this.#letters + text.replace(BLANK, '')
    if (OTHER.test(letters)) {
      this.#note('The base64 of a part has characters that are not base64: they were skipped.')
      letters = letters.replace(OTHERS, '')
    }
    const whole = letters.length - (letters.length % 4)
    this.#letters = letters.slice(whole)
    if (whole > 0) this.push(Buffer.from(letters.slice(0, whole), 'base64'))
  }

  /** Decodes the last group, which the padding or the end of the part completes. */
  #end(): void {
    if (this.#letters.length === 1) this.#note('The base64 of a part was cut short.')
    this.push(Buffer.from(this.#letters, 'base64'))
    this.#letters = ''
  }
}

/** Returns where lines with words begin, including lines before them that cannot be base64; -1 if there are none. */
function findWords(text: string): number {
  if (!text.includes(' ') && !text.includes('\t')) return -1
  TWO_WORDS.lastIndex = 0
  for (let found = TWO_WORDS.exec(text); found; found = TWO_WORDS.exec(text)) {
    const start = text.lastIndexOf('\n', found.index) + 1
    TWO_WORDS.lastIndex = nextLine(text, found.index)
    if (isWords(text.slice(start, TWO_WORDS.lastIndex))) return beforeOthers(text, start)
  }
  return -1
}

/**
 * Tells whether a line has words. Spaces may have been inserted into base64 on the way, but then there are whole groups between
 * them.
 */
function isWords(line: string): boolean {
  return line.split(/\s+/).some(word => word !== '' && (word.length % 4 !== 0 || !GROUPS.test(word)))
}

/** Returns the position after the last complete line of base64: the text after it may turn out to be words. */
function endOfLines(text: string): number {
  const end = beforeOthers(text, text.lastIndexOf('\n') + 1)
  return text.length - end > MAX_REST ? text.length : end
}

/** Returns the end of the last line before `start` that is base64. */
function beforeOthers(text: string, start: number): number {
  let from = start
  while (from > 0) {
    const before = text.lastIndexOf('\n', from - 2) + 1
    if (GROUPS.test(text.slice(before, from).trim())) return from
    from = before
  }
  return from
}

function nextLine(text: string, at: number): number {
  const lineFeed = text.indexOf('\n', at)
  return lineFeed === -1 ? text.length : lineFeed + 1
}
