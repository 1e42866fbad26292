import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { CHUNK_SIZE, rechunk } from '../chunker.ts'
import { HeaderCheck, type HeaderLimits } from './header_check.ts'
import { LineEnds } from './line_ends.ts'
import { SmtpReplyError } from './smtp_reply_error.ts'

/** What a message is: short and at hand, or long and still arriving. It is read once. */
export type IncomingContent = {
  /** Null: it is long. */
  bytes: Buffer | null
  /** All of it. Fails with an SmtpReplyError at its end, when it may not be stored. */
  chunks(): AsyncIterable<Buffer>
  /** Once all of it was read. `sha256` is hex. */
  digest(): { sha256: string; size: number }
  /** Whoever does not read all of it lets go of the rest. */
  close(): Promise<unknown>
}

/** What is longer is not held in memory: one stored chunk. */
const SHORT_BYTES = CHUNK_SIZE

export type ContentLimits = HeaderLimits & { size: number }

/**
 * Reads a message as it comes by SMTP, its dots taken away already, until it has ended or is long. Lines end in CRLF; bytes
 * are otherwise kept as they are, NUL too (RFC 5322 section 4). What may not be stored is read to its end all the same, so
 * that the answer comes when the client expects it.
 *
 * @throws {SmtpReplyError} when it may not be stored
 */
export async function readContent(stream: Readable, limits: ContentLimits): Promise<IncomingContent> {
  const hash = createHash('sha256')
  let size = 0
  const pieces = checked(stream, limits)
  const begin: Buffer[] = []
  let isOver = false
  while (!isOver && size <= SHORT_BYTES) {
    const { value, done } = await pieces.next()
    if (done) isOver = true
    else if (begin.push(value)) size += value.length
  }
  const first = Buffer.concat(begin.splice(0))
  hash.update(first)

  async function* all(): AsyncGenerator<Buffer> {
    yield first
    if (isOver) return
    for await (const piece of pieces) {
      hash.update(piece)
      size += piece.length
      yield piece
    }
  }
  let sha256: string | undefined
  return {
    bytes: isOver ? first : null,
    chunks: () => rechunk(all()),
    digest() {
      sha256 ??= hash.digest('hex')
      return { sha256, size }
    },
    close: () => pieces.return(undefined),
  }
}

/** The stream is left open by whoever stops reading: smtp-server answers when it has ended. */
async function* checked(stream: Readable, limits: ContentLimits): AsyncGenerator<Buffer> {
  const lines = new LineEnds()
  const header = new HeaderCheck(limits)
  let refusal: SmtpReplyError | null = null
  let size = 0
  const check = (piece: Buffer) => {
    size += piece.length
    refusal ??= header.push(piece)
    if (size > limits.size) refusal ??= new SmtpReplyError(552, '5.3.4 The message is too large')
    return refusal === null && piece.length > 0
  }
  try {
    for await (const piece of stream.iterator({ destroyOnReturn: false })) {
      const normal = lines.push(piece)
      if (check(normal)) yield normal
    }
  } finally {
    stream.resume()
  }
  const rest = lines.end()
  if (check(rest)) yield rest
  if (refusal) throw refusal
}
