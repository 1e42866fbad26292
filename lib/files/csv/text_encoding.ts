/** First bytes of a file, which show its encoding and contain its header. */
export const HEAD_BYTES = 64 * 1024

const MARKS = [
  { encoding: 'utf-8', bytes: Buffer.from([0xef, 0xbb, 0xbf]) },
  { encoding: 'utf-16le', bytes: Buffer.from([0xff, 0xfe]) },
  { encoding: 'utf-16be', bytes: Buffer.from([0xfe, 0xff]) },
]

/** The encoding of a file. `head`: its first bytes. */
export type FileText = { head: Buffer; encoding: string; is_utf8: boolean }

/**
 * Detects the encoding of a file from its bytes as they pass: by the byte order mark, else UTF-8 if all bytes are valid, else
 * Windows-1252, which Excel writes. Any other encoding must be given.
 */
export class EncodingProbe {
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true })
  #head = Buffer.alloc(0)
  #isUtf8 = true

  /** The first bytes so far. */
  get head(): Buffer {
    return this.#head
  }

  push(bytes: Buffer): void {
    const room = HEAD_BYTES - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(0, room)])
    this.#decode(bytes, true)
  }

  end(): FileText {
    this.#decode(Buffer.alloc(0), false)
    const encoding = markedEncoding(this.#head) ?? (this.#isUtf8 ? 'utf-8' : 'windows-1252')
    return { head: this.#head, encoding, is_utf8: this.#isUtf8 }
  }

  #decode(bytes: Buffer, stream: boolean): void {
    if (!this.#isUtf8) return
    try {
      this.#utf8.decode(bytes, { stream })
    } catch {
      this.#isUtf8 = false
    }
  }
}

/** Returns the encoding of a byte order mark, or null without one. */
export function markedEncoding(head: Buffer): string | null {
  return MARKS.find(({ bytes }) => head.subarray(0, bytes.length).equals(bytes))?.encoding ?? null
}

/** Decodes the first bytes of a file, which may end in the middle of a character. */
export function decodeHead(head: Buffer, encoding: string): string {
  return new TextDecoder(encoding).decode(head, { stream: true })
}

/** Bytes of UTF-8 per piece for the parser. */
const PIECE = 32 * 1024

/**
 * Converts a file to pieces of UTF-8 without a byte order mark. @throws {TypeError} for bytes that are invalid in the encoding
 */
export async function* toUtf8(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const pieces = function* (text: string) {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
  }
  for await (const chunk of chunks) yield* pieces(decoder.decode(chunk, { stream: true }))
  yield* pieces(decoder.decode())
}
