import { createHash, hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { CHUNK_SIZE, rechunk } from '#lib/files/chunker.ts'
import { ContentCheck, type ContentLimits } from './content_check.ts'

/** The content of a message: short and in memory, or long and still arriving. It can be read once. */
export type IncomingContent = {
  /** Null if it is long. */
  bytes: Buffer | null
  /** Yields all of it. Fails with an SmtpReplyError at its end if it must not be stored. */
  chunks(): AsyncIterable<Buffer>
  /** Available once all of it was read. `sha256` is hex. */
  digest(): { sha256: string; size: number; has_message_id: boolean }
  /** Discards the rest if not all of it was read. */
  close(): Promise<unknown>
}

/** Longer messages are not held in memory. The limit is one stored chunk. */
const SHORT_BYTES = CHUNK_SIZE

/**
 * Reads a message as it arrives by SMTP, after dot-unstuffing, until it has ended or is long. Lines end in CRLF; other bytes are
 * kept as they are, including NUL (RFC 5322 section 4). A message that must not be stored is still read to its end, so that the
 * reply comes when the client expects it.
 *
 * @throws {SmtpReplyError} if it must not be stored
 */
export async function readContent(stream: Readable, limits: ContentLimits): Promise<IncomingContent> {
  const check = new ContentCheck(limits)
  const { first, isOver } = await readFirst(stream, check)
  return isOver ? shortContent(first, check.hasMessageId) : longContent(first, stream, check)
}

function shortContent(bytes: Buffer, has_message_id: boolean): IncomingContent {
  const sha256 = hash('sha256', bytes)
  return {
    bytes,
    async *chunks() {
      yield bytes
    },
    digest: () => ({ sha256, size: bytes.length, has_message_id }),
    close: async () => {},
  }
}

function longContent(first: Buffer, stream: Readable, check: ContentCheck): IncomingContent {
  const digest = createHash('sha256')
  let size = 0
  async function* all(): AsyncGenerator<Buffer> {
    for await (const piece of readAll(first, stream, check)) {
      digest.update(piece)
      size += piece.length
      yield piece
    }
  }
  let sha256: string | undefined
  return {
    bytes: null,
    chunks: () => rechunk(all()),
    digest() {
      sha256 ??= digest.digest('hex')
      return { sha256, size, has_message_id: check.hasMessageId }
    },
    close: async () => stream.resume(),
  }
}

/**
 * Resolves to all of a short message, or to the beginning of a long one with the stream paused. Events cost less than an
 * iterator.
 */
function readFirst(stream: Readable, check: ContentCheck): Promise<{ first: Buffer; isOver: boolean }> {
  const pieces: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    const stop = () => stream.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
    const finish = (isOver: boolean) => {
      stop()
      resolve({ first: Buffer.concat(pieces), isOver })
    }
    const onData = (piece: Buffer) => {
      const checked = check.push(piece)
      if (checked.length === 0) return
      pieces.push(checked)
      size += checked.length
      if (size <= SHORT_BYTES) return
      stream.pause()
      finish(false)
    }
    const onEnd = () => {
      try {
        pieces.push(check.end())
        finish(true)
      } catch (error) {
        onError(error as Error)
      }
    }
    const onError = (error: Error) => {
      stop()
      reject(error)
    }
    const onClose = () => onError(new Error('the connection ended within a message'))
    stream.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  })
}

/** Stays open if the reader stops early: smtp-server replies when the stream has ended. */
async function* readAll(first: Buffer, stream: Readable, check: ContentCheck): AsyncGenerator<Buffer> {
  yield first
  try {
    for await (const piece of stream.iterator({ destroyOnReturn: false })) {
      const checked = check.push(piece)
      if (checked.length > 0) yield checked
    }
  } finally {
    stream.resume()
  }
  const rest = check.end()
  if (rest.length > 0) yield rest
}
