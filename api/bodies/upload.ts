import type { IncomingMessage } from 'node:http'
import type { Context, Middleware } from '#api/context.ts'
import { SharedBudget } from '#lib/async/shared_budget.ts'
import { ApiError } from '#lib/errors.ts'
import { extractStrings, TooLargeError } from '#lib/files/upload/extract_strings.ts'
import { decodeContents, replaceContents } from '#lib/files/upload/uploaded_content.ts'
import { findUnstorable } from '#lib/json/unstorable_json.ts'
import { ArrivingFiles } from './arriving_files.ts'
import { holdBody, SHORT } from './budget.ts'
import { MAX_BODY_BYTES, NOT_JSON, NOT_WHOLE, parseBody, readBytes, requireIdentity } from './read_body.ts'

/** A body is read as a whole up to this length: longer ones have a file in them, or several. */
const SMALL = 1024 * 1024

/** Of a whole batch with its files. */
const MAX_UPLOAD_BYTES = 160 * 1024 * 1024
const MAX_FILES = 1_000

/**
 * Bytes of memory that the files of all uploads of a process may take while they pass through it, and about how many those
 * of one take; the others wait unread. One account, whose files may arrive slowly, leaves room for four uploads of others.
 * The JSON around the files is a body like others (body_budget.ts).
 */
const FILES_BUDGET = new SharedBudget(64 * 1024 * 1024, 48 * 1024 * 1024)
const ONE_UPLOAD = 4 * 1024 * 1024

const CONTENT_PATHS = [
  ['attachments', '*', 'content'],
  ['*', 'attachments', '*', 'content'],
] as const

/** Room that a body holds in the budget of all bodies until it is answered. */
type Held = { release: () => void }

/** As `readBody`, for emails: the content of an attachment becomes an UploadedContent, or a WrongContent. */
export const readEmailBody: Middleware = async (ctx, next) => {
  requireIdentity(ctx.req)
  const length = Number(ctx.get('content-length') || Number.POSITIVE_INFINITY)
  const held: Held = { release: length > SMALL ? () => {} : await holdBody(ctx, length) }
  try {
    ctx.state.body = length > SMALL ? await readLarge(ctx, length, held).catch(giveUp(ctx)) : await readSmall(ctx)
    await next()
  } finally {
    held.release()
  }
}

/** What was not read cannot be skipped: the connection is of no more use. */
function giveUp(ctx: Context): (error: unknown) => never {
  return error => {
    if (!ctx.req.readableEnded) ctx.set('connection', 'close')
    throw error
  }
}

/** The route looks at each email of a batch, as one that cannot be stored may be the only one to be refused. */
function findUnstorableEmail(body: unknown): string | null {
  return Array.isArray(body) ? null : findUnstorable(body)
}

async function readSmall(ctx: Context): Promise<unknown> {
  const body = await parseBody(await readBytes(ctx.req, SMALL), findUnstorableEmail)
  decodeContents(body)
  return body
}

/** Of a long body only what is around the files is kept and parsed; these go to the store as they arrive. */
async function readLarge(ctx: Context, length: number, held: Held): Promise<unknown> {
  if (Number.isFinite(length) && length > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES)
  const gone = new AbortController()
  ctx.req.once('close', () => gone.abort(notWhole(new Error('the client went away while it waited'))))
  const release = await FILES_BUDGET.acquire(ctx.state.caller.account_id, ONE_UPLOAD, gone.signal)
  try {
    return await readFiles(ctx, Math.min(length, MAX_BODY_BYTES), held)
  } finally {
    release()
  }
}

/** `most`: bytes that there can be around the files. */
async function readFiles(ctx: Context, most: number, held: Held): Promise<unknown> {
  const files = new ArrivingFiles(ctx.blobs, ctx.state.caller.account_id)
  const limits = { paths: CONTENT_PATHS, max_bytes: MAX_BODY_BYTES, max_strings: MAX_FILES }
  const onLength = holdAsItGrows(ctx, most, held)
  try {
    const skeleton = await extractStrings(bounded(ctx.req), { ...limits, onLength }, part => files.take(part))
    const body = await parseBody(skeleton.bytes, findUnstorableEmail)
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

/**
 * Holds room for what is around the files: none while it is short, then SMALL bytes, and `most` only beyond these. A slow
 * upload of one file and a few pages of text would else keep others waiting for as long as it takes.
 */
function holdAsItGrows(ctx: Context, most: number, held: Held): (length: number) => Promise<void> {
  const releases: (() => void)[] = []
  let bytes = 0
  held.release = () => {
    for (const release of releases) release()
  }
  return async length => {
    const wanted = length <= SHORT ? 0 : length <= SMALL ? SMALL : most
    if (wanted <= bytes) return
    releases.push(await holdBody(ctx, wanted - bytes))
    bytes = wanted
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
  return new ApiError('validation_error', NOT_JSON, { cause: error })
}

function notWhole(cause: unknown): ApiError {
  return new ApiError('validation_error', NOT_WHOLE, { cause })
}

function tooLarge(limit: number): ApiError {
  return new ApiError('validation_error', `The body is larger than ${limit} bytes.`)
}
