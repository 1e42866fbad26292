import { ByteOrderMark } from './byte_order_mark.ts'
import { HeaderCheck, type HeaderLimits } from './header_check.ts'
import { LineEnds } from './line_ends.ts'
import { SmtpReplyError } from './reply_error.ts'

export type ContentLimits = HeaderLimits & { size: number }

const NOTHING = Buffer.alloc(0)

/** Repairs line ends, and removes a byte order mark, as bytes arrive. Returns nothing more once the message must not be stored. */
export class ContentCheck {
  readonly #limits: ContentLimits
  readonly #mark = new ByteOrderMark()
  readonly #lines = new LineEnds()
  readonly #header: HeaderCheck
  #size = 0
  #refusal: SmtpReplyError | null = null

  constructor(limits: ContentLimits) {
    this.#limits = limits
    this.#header = new HeaderCheck(limits)
  }

  get hasMessageId(): boolean {
    return this.#header.hasMessageId
  }

  push(piece: Buffer): Buffer {
    return this.#look(this.#lines.push(this.#mark.push(piece)))
  }

  /** Returns the rest of the last piece. @throws {SmtpReplyError} why the message must not be stored */
  end(): Buffer {
    const rest = this.#look(Buffer.concat([this.#lines.push(this.#mark.end()), this.#lines.end()]))
    if (this.#refusal) throw this.#refusal
    return rest
  }

  #look(piece: Buffer): Buffer {
    this.#size += piece.length
    this.#refusal ??= this.#header.push(piece)
    if (this.#size > this.#limits.size) this.#refusal ??= new SmtpReplyError(552, '5.3.4 The message is too large')
    return this.#refusal ? NOTHING : piece
  }
}
