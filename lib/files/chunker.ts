import { GrowingBuffer } from '#lib/files/upload/growing_buffer.ts'

/**
 * Bytes of a stored chunk: 256 KiB, reduced to whole base64 lines of 76 characters (57 bytes each), so that each chunk can be
 * encoded separately (RFC 2045 section 6.8).
 */
export const CHUNK_SIZE: number = 256 * 1024 - ((256 * 1024) % 57)

/** Splits pieces of any size into chunks of exactly `size` bytes; only the last one may be shorter. */
export class Chunker {
  readonly #size: number
  readonly #waiting: GrowingBuffer

  constructor(size: number = CHUNK_SIZE) {
    this.#size = size
    this.#waiting = new GrowingBuffer(size)
  }

  /** Returns the chunks that became full. They are copies, so the piece may be reused. */
  push(piece: Buffer): Buffer[] {
    const chunks: Buffer[] = []
    for (let start = 0; start < piece.length; ) {
      const end = Math.min(piece.length, start + this.#size - this.#waiting.length)
      this.#waiting.append(piece, start, end)
      if (this.#waiting.length === this.#size) chunks.push(this.#waiting.take())
      start = end
    }
    return chunks
  }

  /** Returns the rest, or null if nothing is left. */
  end(): Buffer | null {
    return this.#waiting.length > 0 ? this.#waiting.take() : null
  }
}

export async function* rechunk(pieces: AsyncIterable<Buffer>, size: number = CHUNK_SIZE): AsyncGenerator<Buffer> {
  const chunker = new Chunker(size)
  for await (const piece of pieces) yield* chunker.push(piece)
  const rest = chunker.end()
  if (rest) yield rest
}
