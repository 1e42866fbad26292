import { randomBytes } from 'node:crypto'

const CRLF = Buffer.from('\r\n')

/** The pieces of a message that is being built. Contents are not copied. */
export class Pieces {
  readonly list: Buffer[] = []
  #seed = ''
  #boundaries = 0
  /** True if nothing was written after the last line end. */
  #isLineBegin = true

  /** Returns a boundary that occurs nowhere in the message, except by an extremely rare chance. */
  newBoundary(): string {
    this.#seed ||= randomBytes(12).toString('hex')
    return `${this.#seed}-${++this.#boundaries}`
  }

  /** Returns the index of the piece, for `replaceHeader`. */
  writeHeader(header: Buffer): number {
    const piece = this.list.push(header) - 1
    this.list.push(CRLF)
    this.#isLineBegin = true
    return piece
  }

  replaceHeader(piece: number, header: Buffer): void {
    this.list[piece] = header
  }

  writeContent(content: Buffer): void {
    if (content.length === 0) return
    this.list.push(content)
    this.#isLineBegin = false
  }

  /**
   * Writes a delimiter line. The line end before it does not belong to the content. Empty content gets none, since mailparser
   * would keep it.
   */
  writeDelimiter(boundary: string): void {
    this.list.push(Buffer.from(`${this.#isLineBegin ? '' : '\r\n'}--${boundary}\r\n`))
    this.#isLineBegin = true
  }
}
