import { SmtpReplyError } from './reply_error.ts'

export type HeaderLimits = { headers: number; header_bytes: number; received: number }

const LF = 10
const CR = 13
const COLON = 58
const LONGEST = 'message-id:'.length

/**
 * Checks the header of a message as it arrives, in CRLF lines, against limits that no normal message exceeds, and for mail loops.
 */
export class HeaderCheck {
  readonly #limits: HeaderLimits
  #isOver = false
  #bytes = 0
  #headers = 0
  #received = 0
  #column = 0
  #begin = ''
  #hasMessageId = false

  constructor(limits: HeaderLimits) {
    this.#limits = limits
  }

  get hasMessageId(): boolean {
    return this.#hasMessageId
  }

  /** Returns why the message is rejected, once that is known. */
  push(piece: Buffer): SmtpReplyError | null {
    if (this.#isOver) return null
    for (let i = 0; i < piece.length && !this.#isOver; i++) this.#pushByte(piece[i] as number)
    const { headers, header_bytes, received } = this.#limits
    if (this.#bytes > header_bytes) return new SmtpReplyError(552, '5.3.4 The header is too large')
    if (this.#headers > headers) return new SmtpReplyError(554, '5.6.0 The header has too many lines')
    if (this.#received > received) return new SmtpReplyError(554, '5.4.6 The message is in a mail loop')
    return null
  }

  #pushByte(byte: number): void {
    this.#bytes++
    if (byte === LF) {
      this.#column = 0
      this.#begin = ''
      return
    }
    if (this.#column === 0) {
      this.#isOver = byte === CR // an empty line ends the header
      if (byte !== 32 && byte !== 9) this.#headers++
    }
    if (this.#column < LONGEST) {
      this.#begin += String.fromCharCode(byte)
      if (byte === COLON) this.#note(this.#begin.toLowerCase())
    }
    this.#column++
  }

  #note(begin: string): void {
    if (begin === 'received:') this.#received++
    if (begin === 'message-id:') this.#hasMessageId = true
  }
}
