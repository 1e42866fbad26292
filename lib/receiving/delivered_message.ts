import { readHeader, splitMessage } from '#lib/mail/mime/header.ts'

/** A message of `size` bytes, in pieces of any length. */
export type Content = { size: number; pieces: AsyncIterable<Buffer> }

/** More bytes than a header may have (`header_bytes` in lib/receiving/smtp/limits.ts). */
const MAX_HEADER = 2 * 1024 * 1024

/**
 * Returns a received message as the server of final delivery passes it on: with `trace` at the top, and without any Return-Path
 * of the sender, since only that server may add one (RFC 5321 section 4.4). Holds only the header in memory.
 *
 * @throws the errors of reading its first pieces
 */
export async function deliveredMessage(trace: string, { size, pieces }: Content): Promise<Content> {
  const source = pieces[Symbol.asyncIterator]()
  const read: Buffer[] = []
  let length = 0
  let isHeaderRead = false
  while (!isHeaderRead && length < MAX_HEADER) {
    const next = await source.next()
    if (next.done) break
    // The empty line may span two pieces.
    const tail = read.at(-1)?.subarray(-3) ?? Buffer.alloc(0)
    isHeaderRead = Buffer.concat([tail, next.value]).includes('\r\n\r\n')
    read.push(next.value)
    length += next.value.length
  }
  const begin = Buffer.concat(read)
  const kept = withoutReturnPath(begin)
  const top = Buffer.from(trace)
  const removed = begin.length - kept.reduce((sum, piece) => sum + piece.length, 0)
  return { size: top.length + size - removed, pieces: joined([top, ...kept], source) }
}

function withoutReturnPath(message: Buffer): Buffer[] {
  const kept: Buffer[] = []
  let start = 0
  for (const { name, raw } of readHeader(splitMessage(message).header)) {
    if (name !== 'return-path') continue
    const at = raw.byteOffset - message.byteOffset
    kept.push(message.subarray(start, at))
    start = at + raw.length
  }
  return [...kept, message.subarray(start)]
}

async function* joined(first: Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    for (const piece of first) if (piece.length > 0) yield piece
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.() // the reader may have stopped early
  }
}
