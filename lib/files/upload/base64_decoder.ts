import { isWhiteSpace } from '#lib/json/bytes.ts'
import { type Decoded, FileDigest } from './file_digest.ts'

const NO_LETTER = /[^A-Za-z0-9+/_-]/
const PADDING = /^=*$/
const WRONG_PADDING = 'must be base64 with the right padding'
const NOTHING = Buffer.alloc(0)

/**
 * Decodes base64 as it arrives (RFC 4648 section 4), at most one piece at a time.
 *
 * Lines may be wrapped, as in MIME, and padding may be missing. The URL-safe alphabet (section 5) is accepted too, since mail
 * APIs return files in it and the two alphabets never conflict. Any other character is rejected: `Buffer.from(text, 'base64')`
 * would silently skip it or stop there, and the file would arrive damaged.
 */
export class Base64Decoder {
  readonly #digest: FileDigest
  /** Text that is not decoded yet: less than a group of four letters, and perhaps the padding after it. */
  #rest = ''

  constructor(limit?: number) {
    this.#digest = new FileDigest(limit)
  }

  /** The first fault so far. Everything after it is dropped, so the caller may stop. */
  get fault(): string | null {
    return this.#digest.fault
  }

  /** Takes ASCII and returns the bytes of complete groups; empty after a fault. */
  write(piece: Buffer): Buffer {
    if (this.fault) return NOTHING
    const text = this.#rest + piece.toString('latin1')
    return this.#digest.write(this.#decodeGroups(text, text.length) ?? this.#decodeLetters(withoutWhiteSpace(text)))
  }

  /** To be called once. `bytes` are those of the last, incomplete group: at most two. */
  end(): Decoded {
    const [letters, padding] = splitLetters(withoutWhiteSpace(this.#rest))
    if (!PADDING.test(padding)) this.#digest.fault ??= faultOf(padding)
    else if (letters.length === 1) this.#digest.fault ??= 'must be whole base64: it was cut short'
    else if (padding && (!letters || letters.length + padding.length !== 4)) this.#digest.fault ??= WRONG_PADDING
    return this.#digest.end(Buffer.from(letters, 'base64'))
  }

  /** Returns null if there are other characters among the letters: the native decoder then returns fewer bytes than it should. */
  #decodeGroups(text: string, letters: number): Buffer | null {
    const whole = letters - (letters % 4)
    const bytes = Buffer.from(text.slice(0, whole), 'base64')
    if (bytes.length !== (whole / 4) * 3) return null
    this.#rest = text.slice(whole)
    return bytes
  }

  #decodeLetters(text: string): Buffer {
    const [letters, padding] = splitLetters(text)
    if (!PADDING.test(padding)) this.#digest.fault = faultOf(padding)
    else if (padding.length > 3) this.#digest.fault = WRONG_PADDING
    return (this.fault ? null : this.#decodeGroups(text, letters.length)) ?? NOTHING
  }
}

/** Decodes a complete text by the same rules. */
export function decodeBase64(text: string, limit?: number): Decoded {
  const decoder = new Base64Decoder(limit)
  const bytes = decoder.write(Buffer.from(text))
  const end = decoder.end()
  return 'fault' in end ? end : { ...end, bytes: end.bytes.length > 0 ? Buffer.concat([bytes, end.bytes]) : bytes }
}

/** Without a regular expression, which would take a hundred times as long if every other character were white space. */
function withoutWhiteSpace(text: string): string {
  const bytes = Buffer.from(text, 'latin1')
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (isWhiteSpace[byte] === 0) bytes[length++] = byte
  }
  return bytes.toString('latin1', 0, length)
}

/** Splits a text after the base64 letters at its beginning. */
function splitLetters(text: string): [letters: string, rest: string] {
  const end = text.search(NO_LETTER)
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end)]
}

/** Explains the fault. `rest` is the text after the letters. */
function faultOf(rest: string): string {
  if (rest[0] === ':') return 'must be base64 without `data:…;base64,` in front'
  return rest[0] === '=' ? 'must be base64 that ends after its padding' : 'must be base64: it has another character'
}
