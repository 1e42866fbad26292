import { Readable } from 'node:stream'
import type { Context } from '#api/context.ts'

const PRIVATE = {
  'content-security-policy': "sandbox; default-src 'none'",
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
}

type File = { filename: string; content_type: string; size: number }

/** Answers a file as it is, and so that no browser opens it in our name: whatever it holds was written by strangers. */
export function sendFile(ctx: Context, { filename, content_type, size }: File, content: Readable): void {
  ctx.attachment(filename)
  ctx.set({
    'content-type': content_type,
    'content-length': String(size),
    ...PRIVATE,
  })
  ctx.body = content
}

/** Answers a CSV file that is written while it is sent. */
export function sendExport(ctx: Context, filename: string, content: Readable): void {
  ctx.attachment(filename)
  ctx.set({ 'content-type': 'text/csv; charset=utf-8', ...PRIVATE })
  ctx.body = content
}

/**
 * Content of so many bytes as a stream whose first piece is there: of a store that is away the caller is still told by an
 * answer. It fails when there is less, for which the caller would wait.
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
      await pieces.return?.() // the client may have gone away
    }
    if (left !== 0) throw new Error(`a file of ${size} bytes has ${size - left}`)
  }
  return Readable.from(all())
}
