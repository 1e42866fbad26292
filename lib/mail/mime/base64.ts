/** RFC 2045 section 6.8: 76 characters per line, which are 57 bytes. */
const LINE = 76
const LINE_BYTES = 57

/** Bytes encoded at a time: the string stays small, and its lines are still in the CPU cache when they are moved. */
const BLOCK_BYTES = LINE_BYTES * 1024

/** Returns base64 in CRLF lines, including the last; one empty line for no bytes. */
export function base64Lines(bytes: Buffer): string {
  const encoded = bytes.toString('base64')
  let lines = ''
  for (let start = 0; start < encoded.length; start += LINE) lines += `${encoded.slice(start, start + LINE)}\r\n`
  return lines || '\r\n'
}

/** Returns the length of `base64Lines` for this many bytes. */
export function base64LinesLength(bytes: number): number {
  const encoded = 4 * Math.ceil(bytes / 3)
  return Math.max(2, encoded + 2 * Math.ceil(encoded / LINE))
}

/** Writes `base64Lines` of bytes that come in pieces of any length directly into the space reserved for them. */
export class Base64Writer {
  readonly #target: Buffer
  /** The start of a line that is not full yet, as bytes. */
  readonly #rest = Buffer.allocUnsafe(LINE_BYTES)
  #rested = 0
  #isEmpty = true
  /** Position after the last byte written. */
  end: number

  constructor(target: Buffer, start: number) {
    this.#target = target
    this.end = start
  }

  write(bytes: Buffer): void {
    let start = 0
    if (this.#rested > 0) {
      start = bytes.copy(this.#rest, this.#rested)
      this.#rested += start
      if (this.#rested < LINE_BYTES) return
      this.#encode(this.#rest, 0, LINE_BYTES)
    }
    const rest = bytes.length - ((bytes.length - start) % LINE_BYTES)
    for (; start < rest; start += BLOCK_BYTES) this.#encode(bytes, start, Math.min(start + BLOCK_BYTES, rest))
    this.#rested = bytes.copy(this.#rest, 0, rest)
  }

  /** Writes the last line, which may be shorter. */
  finish(): void {
    if (this.#rested > 0) this.#encode(this.#rest, 0, this.#rested)
    else if (this.#isEmpty) this.#endLine()
  }

  /** Writes base64 after the space for its line breaks, then moves each line forward to its place. */
  #encode(bytes: Buffer, start: number, end: number): void {
    this.#isEmpty = false
    const encoded = bytes.toString('base64', start, end)
    let from = this.end + 2 * Math.ceil(encoded.length / LINE)
    const last = from + this.#target.write(encoded, from, 'latin1')
    for (; from < last; from += LINE) {
      this.#target.copyWithin(this.end, from, Math.min(from + LINE, last))
      this.end += Math.min(LINE, last - from)
      this.#endLine()
    }
  }

  #endLine(): void {
    this.#target[this.end++] = 0x0d
    this.#target[this.end++] = 0x0a
  }
}
