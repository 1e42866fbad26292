import { Transform, type TransformCallback } from 'node:stream'

const [TAB, LF, CR, SPACE, EQUALS] = [9, 10, 13, 32, 61]
/** The value of a byte as a hexadecimal digit, or -1. */
const DIGITS = Int8Array.from({ length: 256 }, (_, byte) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase()),
)
/**
 * White space at the end of a line is not content (RFC 2045 section 6.7), but more characters than this are treated as content.
 */
const MAX_BLANKS = 1_000

/**
 * Decodes quoted-printable as it arrives. mailparser's own decoder first lists everything that is encoded: a message of 40 MB
 * filled the memory so fast that the whole process ended, not just its thread.
 */
export class QuotedDecoder extends Transform {
  #held: Buffer = Buffer.alloc(0)

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    done(null, this.#decode(Buffer.concat([this.#held, chunk]), false))
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#decode(this.#held, true))
  }

  #decode(input: Buffer, isEnd: boolean): Buffer {
    const output = Buffer.allocUnsafe(input.length)
    let length = 0
    let i = 0
    while (i < input.length) {
      const byte = input[i] as number
      const isBlank = byte === SPACE || byte === TAB
      if (byte !== EQUALS && !isBlank) {
        output[length++] = byte
        i++
        continue
      }
      // The next bytes decide what this is: the end of a line, or two digits.
      const end = skipBlanks(input, isBlank ? i : i + 1)
      if (end + 1 >= input.length && !isEnd && end - i < MAX_BLANKS) break
      const next = input[end]
      const isLineEnd = end === input.length || next === LF || (next === CR && input[end + 1] === LF)
      const code = isBlank || isLineEnd ? -1 : hexAt(input, i + 1)
      if (isBlank && isLineEnd) i = end
      else if (isLineEnd) i = end + (next === CR ? 2 : 1)
      else if (code >= 0) {
        output[length++] = code
        i += 3
      } else if (isBlank) {
        length += input.copy(output, length, i, end)
        i = end
      } else {
        output[length++] = byte
        i++
      }
    }
    this.#held = input.subarray(i)
    return output.subarray(0, length)
  }
}

function skipBlanks(input: Buffer, from: number): number {
  let i = from
  while (i < input.length && i - from < MAX_BLANKS && (input[i] === SPACE || input[i] === TAB)) i++
  return i
}

function hexAt(input: Buffer, at: number): number {
  const [high = -1, low = -1] = [DIGITS[input[at] ?? 0], DIGITS[input[at + 1] ?? 0]]
  return high < 0 || low < 0 ? -1 : high * 16 + low
}
