import type { IncomingMessage } from 'node:http'
import type { Context } from '#api/context.ts'
import { ApiError } from '#lib/errors.ts'
import { extractStrings, NotBytesError, type StringPart, TooLargeError } from '#lib/files/upload/extract_strings.ts'
import { replaceContents, replaceHtml } from '#lib/files/upload/uploaded_content.ts'
import { findUnstorable } from '#lib/json/unstorable_json.ts'
import { ArrivingFiles } from './arriving_files.ts'
import { ArrivingHtml } from './arriving_html.ts'
import { MAX_BODY_BYTES, NOT_JSON, NOT_WHOLE, parseBody } from './read_body.ts'

/** Limit of a whole batch with its files. */
export const MAX_UPLOAD_BYTES = 160 * 1024 * 1024
/** Limit of strings that are extracted: 1,000 files, and the html of 100 emails. */
const MAX_STRINGS = 1_100

const HTML_PATH = ['*', 'html'] as const
/** Files as base64 or as lists of bytes, which may be inside a Buffer that JSON.stringify has written. */
const FILE_PATHS = [
  ['attachments', '*', 'content'],
  ['attachments', '*', 'content', 'data'],
  ['*', 'attachments', '*', 'content'],
  ['*', 'attachments', '*', 'content', 'data'],
]
const LIMITS = {
  paths: [...FILE_PATHS, HTML_PATH],
  lists: FILE_PATHS,
  max_bytes: MAX_BODY_BYTES,
  max_strings: MAX_STRINGS,
}
const NOT_BYTES = 'The `content` of an attachment must be base64, or a list of its bytes: integers from 0 to 255.'

/** Skips batches: their route checks each email, since a permissive batch rejects only the emails that cannot be stored. */
export function findUnstorableEmail(body: unknown): string | null {
  return Array.isArray(body) ? null : findUnstorable(body)
}

type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>
type Hold = (length: number) => Promise<void>

/** @param hold holds room for the bytes that are kept in memory */
export async function extractBody(ctx: Context, pieces: Pieces, hold?: Hold): Promise<unknown> {
  const { account_id } = ctx.state.caller
  const files = new ArrivingFiles(ctx.blobs, account_id)
  const html = new ArrivingHtml(ctx.blobs, account_id, MAX_BODY_BYTES)
  const values: unknown[] = []
  const take = async (part: StringPart) => {
    const value = await (part.path === HTML_PATH ? html : files).take(part)
    if (part.is_last) values[part.index] = value
  }
  const onLength = hold && ((length: number) => hold(length + html.kept))
  try {
    const skeleton = await extractStrings(pieces, { ...LIMITS, onLength }, take)
    const body = await parseBody(skeleton.bytes, findUnstorableEmail)
    const arrived = (placeholder: string) => values[skeleton.indexOf(placeholder) as number]
    replaceContents(body, arrived)
    replaceHtml(body, arrived)
    return body
  } catch (error) {
    await files.stop()
    await html.stop()
    // Skip the rest of the body, so that it does not block the next request: Node does so itself only for bodies that
    // nobody has begun to read.
    ctx.req.resume()
    throw toApiError(error)
  }
}

/** Reads at most MAX_UPLOAD_BYTES. If the reader stops early, the socket stays open for the response. */
export async function* bounded(request: IncomingMessage): AsyncIterable<Buffer> {
  let count = 0
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      count += piece.length
      if (count > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES)
      yield piece
    }
  } catch (error) {
    // Translated here, where only the client can have failed: further up, a store that is not available causes the same errors.
    throw error instanceof ApiError ? error : notWhole(error)
  }
}

function toApiError(error: unknown): unknown {
  if (error instanceof TooLargeError) return tooLarge(MAX_BODY_BYTES)
  if (error instanceof NotBytesError) return new ApiError('validation_error', NOT_BYTES, { cause: error })
  if (!(error instanceof SyntaxError)) return error
  return new ApiError('validation_error', NOT_JSON, { cause: error })
}

export function notWhole(cause: unknown): ApiError {
  return new ApiError('validation_error', NOT_WHOLE, { cause })
}

export function tooLarge(limit: number): ApiError {
  return new ApiError('validation_error', `The body is larger than ${limit} bytes.`)
}
