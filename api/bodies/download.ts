import { Readable } from 'node:stream'
import type { Context } from '#api/context.ts'

const PRIVATE = {
  'content-security-policy': "sandbox; default-src 'none'",
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
}

type File = { filename: string; content_type: string; size: number }

/** Responds with a file as it is. Its headers keep browsers from opening it on our origin, since strangers wrote its content. */
export function sendFile(ctx: Context, { filename, content_type, size }: File, content: Readable): void {
  ctx.attachment(filename)
  ctx.set({
    'content-type': content_type,
    'content-length': String(size),
    ...PRIVATE,
  })
  ctx.body = content
}

/** Responds with a CSV file that is written while it is sent. */
export function sendExport(ctx: Context, filename: string, content: Readable): void {
  ctx.attachment(filename)
  ctx.set({ 'content-type': 'text/csv; charset=utf-8', ...PRIVATE })
  ctx.body = content
}

/**
 * Returns content of `size` bytes as a stream, once its first piece has been read: if the store is not available, the caller
 * still gets an error response. The stream fails if the content is not `size` bytes long, since the client waits for exactly
 * these.
 */
export async function beginReading(content: AsyncIterable<Buffer>, size: number): Promise<Readable> {
  const pieces = content[Symbol.asyncIterator]()
  const first = await pieces.next()
  const all = async function* () {
    let left = size
    try {
      for (let next = first; !next.done; next = await pieces.next()) {
        left -= next.value.length
        yield next.value
      }
    } finally {
      await pieces.return?.() // the client may have disconnected
    }
    if (left !== 0) throw new Error(`a file of ${size} bytes has ${size - left}`)
  }
  return Readable.from(all())
}
