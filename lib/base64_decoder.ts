import { createHash } from 'node:crypto'

/** 25 MiB: the largest file that may be attached (contract 2.2). */
export const MAX_FILE_BYTES: number = 25 * 1024 * 1024

/** `fault` goes behind the name of what was decoded: `attachments[0].content is larger than 26214400 bytes`. */
export type Decoded = { bytes: Buffer; size: number; sha256: Buffer } | { fault: string }

const WHITE_SPACE = /[ \t\r\n]+/g
const LETTERS_AND_PADDING = /^([A-Za-z0-9+/_-]*)(=*)$/
const WRONG_PADDING = 'is base64 with the wrong padding'
const NOTHING = Buffer.alloc(0)

/**
 * Decodes base64 as it arrives (RFC 4648 section 4), never more than a piece at a time.
 *
 * Lines may be wrapped, as in MIME, and padding may be missing. The alphabet for URLs (section 5) is taken too: mail APIs
 * hand out files in it, and the two never differ on a letter. All else is refused that `Buffer.from(text, 'base64')`
 * skips, or ends at, without a word: the file would arrive damaged.
 */
export class Base64Decoder {
  readonly #limit: number
  readonly #hash = createHash('sha256')
  #size = 0
  /** Letters of a group that is not whole yet, and padding behind them. */
  #rest = ''
  #fault: string | null = null

  constructor(limit: number = MAX_FILE_BYTES) {
    this.#limit = limit
  }

  /** What is wrong so far. Whatever comes after is dropped, so it need not come at all. */
  get fault(): string | null {
    return this.#fault
  }

  /** Takes ASCII, gives the bytes of the groups that became whole; none once there is a fault. */
  write(piece: Buffer): Buffer {
    if (this.#fault) return NOTHING
    const text = this.#rest + piece.toString('latin1').replace(WHITE_SPACE, '')
    return this.#count(this.#decodeGroups(text, text.length) ?? this.#decodeLetters(text))
  }

  /** To be called once. `bytes` are the last two at most, where padding stood or was missing. */
  end(): Decoded {
    const [, letters = '', padding = null] = LETTERS_AND_PADDING.exec(this.#rest) ?? []
    if (padding === null) this.#fault ??= faultOf(this.#rest)
    else if (letters.length === 1) this.#fault ??= 'is base64 that was cut short'
    else if (padding && (!letters || letters.length + padding.length !== 4)) this.#fault ??= WRONG_PADDING
    const bytes = this.#count(Buffer.from(letters, 'base64'))
    return this.#fault ? { fault: this.#fault } : { bytes, size: this.#size, sha256: this.#hash.digest() }
  }

  /** Null when something else is among the letters: the native decoder then gives less than it should. */
  #decodeGroups(text: string, letters: number): Buffer | null {
    const whole = letters - (letters % 4)
    const bytes = Buffer.from(text.slice(0, whole), 'base64')
    if (bytes.length !== (whole / 4) * 3) return null
    this.#rest = text.slice(whole)
    return bytes
  }

  #decodeLetters(text: string): Buffer {
    const [, letters] = LETTERS_AND_PADDING.exec(text) ?? []
    const bytes = letters === undefined ? null : this.#decodeGroups(text, letters.length)
    if (!bytes) this.#fault = faultOf(text)
    else if (this.#rest.length > 4) this.#fault = WRONG_PADDING
    return bytes ?? NOTHING
  }

  #count(bytes: Buffer): Buffer {
    this.#size += bytes.length
    if (this.#size > this.#limit) this.#fault ??= `is larger than ${this.#limit} bytes`
    if (this.#fault) return NOTHING
    this.#hash.update(bytes)
    return bytes
  }
}

/** A text that is there already, by the same rules. */
export function decodeBase64(text: string, limit?: number): Decoded {
  const decoder = new Base64Decoder(limit)
  const bytes = decoder.write(Buffer.from(text))
  const end = decoder.end()
  return 'fault' in end ? end : { ...end, bytes: end.bytes.length > 0 ? Buffer.concat([bytes, end.bytes]) : bytes }
}

function faultOf(text: string): string {
  const foreign = /[^A-Za-z0-9+/_-]/.exec(text)?.[0]
  if (foreign === ':') return 'has a colon: expected base64 alone, without `data:…;base64,` before it'
  return foreign === '=' ? 'is base64 that goes on after its padding' : 'has a character that is not base64'
}
