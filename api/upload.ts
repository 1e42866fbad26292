import type { IncomingMessage } from 'node:http'
import { unavailable } from '../flows/accept_emails.ts'
import { ApiError } from '../lib/errors.ts'
import { extractStrings, TooLargeError } from '../lib/extract_strings.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { findTooDeep, findUnstorable } from '../lib/storable.ts'
import { decodeContents, replaceContents } from '../lib/uploaded_content.ts'
import { ArrivingFiles } from './arriving_files.ts'
import { MAX_BODY_BYTES, parseJson, readBytes, requireIdentity } from './body.ts'
import type { Context, Middleware } from './context.ts'

/** A body is read as a whole up to this length: longer ones have a file in them, or several. */
const SMALL = 1024 * 1024

/** Of a whole batch with its files. */
const MAX_UPLOAD_BYTES = 160 * 1024 * 1024
const MAX_FILES = 1_000

/** What all uploads of a process may take of its memory, and about what one takes; the others wait unread. */
const BUDGET = new Semaphore(64 * 1024 * 1024)
const ONE_UPLOAD = 4 * 1024 * 1024

/** The same for what is read as a whole, where bodies up to TINY take nothing: they never wait for others. */
const SMALL_BUDGET = new Semaphore(8 * 1024 * 1024)
const TINY = 64 * 1024
const PATIENCE_MS = 5_000

const CONTENT_PATHS = [
  ['attachments', '*', 'content'],
  ['*', 'attachments', '*', 'content'],
] as const

/** As `readBody`, for emails: the content of an attachment becomes an UploadedContent, or a WrongContent. */
export const readEmailBody: Middleware = async (ctx, next) => {
  requireIdentity(ctx.req)
  const length = Number(ctx.get('content-length') || Number.POSITIVE_INFINITY)
  if (length > SMALL) {
    ctx.state.body = await readLarge(ctx, length).catch(giveUp(ctx))
    await next()
    return
  }
  const bytes = length > TINY ? length : 0
  await acquireInTime(bytes)
  try {
    ctx.state.body = await readSmall(ctx)
    await next()
  } finally {
    SMALL_BUDGET.release(bytes) // what was read of it lives until it is answered
  }
}

async function acquireInTime(bytes: number): Promise<void> {
  if (bytes === 0) return
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(unavailable(new Error('too many bodies wait to be read'))), PATIENCE_MS)
  await SMALL_BUDGET.acquire(bytes, late.signal).finally(() => clearTimeout(timer))
}

/** What was not read cannot be skipped: the connection is of no more use. */
function giveUp(ctx: Context): (error: unknown) => never {
  return error => {
    if (!ctx.req.readableEnded) ctx.set('connection', 'close')
    throw error
  }
}

/** Of a batch only what no email of it could have: the route looks at each (api/routes/email_batch.ts). */
function findUnstorableEmail(body: unknown): string | null {
  return Array.isArray(body) ? findTooDeep(body) : findUnstorable(body)
}

async function readSmall(ctx: Context): Promise<unknown> {
  const bytes = await readBytes(ctx.req)
  if (bytes.length === 0) return undefined
  const body = parseJson(bytes, findUnstorableEmail)
  decodeContents(body)
  return body
}

/** Of a long body only what is around the files is kept and parsed; these go to the store as they arrive. */
async function readLarge(ctx: Context, length: number): Promise<unknown> {
  if (Number.isFinite(length) && length > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES)
  const gone = new AbortController()
  ctx.req.once('close', () => gone.abort(notWhole(new Error('the client went away while it waited'))))
  await BUDGET.acquire(ONE_UPLOAD, gone.signal)
  try {
    return await readFiles(ctx)
  } finally {
    BUDGET.release(ONE_UPLOAD)
  }
}

async function readFiles(ctx: Context): Promise<unknown> {
  const files = new ArrivingFiles(ctx.blobs, ctx.state.caller.account_id)
  const limits = { paths: CONTENT_PATHS, max_bytes: MAX_BODY_BYTES, max_strings: MAX_FILES }
  try {
    const skeleton = await extractStrings(bounded(ctx.req), limits, part => files.take(part))
    if (skeleton.bytes.length === 0) return undefined
    const body = parseJson(skeleton.bytes, findUnstorableEmail)
    replaceContents(body, text => files.contents[skeleton.indexOf(text) as number])
    return body
  } catch (error) {
    await files.stop()
    // What nobody reads any more must not stay in the way of the next request: Node itself skips a body only when
    // nothing of it was read.
    ctx.req.resume()
    throw toApiError(error)
  }
}

/** A request that is not read to its end is still to be answered: its socket must stay. */
async function* bounded(request: IncomingMessage): AsyncIterable<Buffer> {
  let count = 0
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      count += piece.length
      if (count > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES)
      yield piece
    }
  } catch (error) {
    // Told here, where it can be nothing but the client: a store that is away ends in the same errors.
    throw error instanceof ApiError ? error : notWhole(error)
  }
}

function toApiError(error: unknown): unknown {
  if (error instanceof TooLargeError) return tooLarge(MAX_BODY_BYTES)
  if (!(error instanceof SyntaxError)) return error
  return new ApiError('validation_error', 'The body is not valid JSON.', { cause: error })
}

function notWhole(cause: unknown): ApiError {
  return new ApiError('validation_error', 'The body did not arrive whole.', { cause })
}

function tooLarge(limit: number): ApiError {
  return new ApiError('validation_error', `The body is larger than ${limit} bytes.`)
}
