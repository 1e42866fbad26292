/** A part of a stream. `isLast`: nothing follows it. */
export type StreamPart = { bytes: Buffer; isLast: boolean }

/** Splits a stream into parts of `size` bytes; the last may be shorter. An empty stream is one empty part. */
export async function* partsOf(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<StreamPart> {
  let held: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    held.push(chunk)
    length += chunk.length
    if (length <= size) continue // it may be the last
    const all = Buffer.concat(held)
    let start = 0
    for (; length - start > size; start += size) yield { bytes: all.subarray(start, start + size), isLast: false }
    held = [Buffer.from(all.subarray(start))]
    length -= start
  }
  yield { bytes: Buffer.concat(held), isLast: true }
}
