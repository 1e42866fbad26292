import { Readable } from 'node:stream'
import type { Context } from './context.ts'

type File = { filename: string; content_type: string; size: number }

/** Answers a file as it is, and so that no browser opens it in our name: whatever it holds was written by strangers. */
export function sendFile(ctx: Context, { filename, content_type, size }: File, content: Readable): void {
  ctx.attachment(filename)
  ctx.set({
    'content-type': content_type,
    'content-length': String(size),
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
  })
  ctx.body = content
}

/** Content as a stream whose first piece is there: of a store that is away the caller is still told by an answer. */
export async function beginReading(content: AsyncIterable<Buffer>): Promise<Readable> {
  const pieces = content[Symbol.asyncIterator]()
  const first = await pieces.next()
  const all = async function* () {
    if (first.done) return
    yield first.value
    yield* { [Symbol.asyncIterator]: () => pieces }
  }
  return Readable.from(all())
}
