import type { IncomingMessage } from 'node:http'
import type { Context, Middleware } from '#api/context.ts'
import { SharedBudget } from '#lib/async/shared_budget.ts'
import { ApiError } from '#lib/errors.ts'
import { extractStrings, type StringPart, TooLargeError } from '#lib/files/upload/extract_strings.ts'
import { decodeContents, replaceContents, replaceHtml } from '#lib/files/upload/uploaded_content.ts'
import { findUnstorable } from '#lib/json/unstorable_json.ts'
import { ArrivingFiles } from './arriving_files.ts'
import { ArrivingHtml, MAX_KEPT } from './arriving_html.ts'
import { type Held, holdAsItGrows, holdBody, SMALL } from './budget.ts'
import { MAX_BODY_BYTES, NOT_JSON, NOT_WHOLE, parseBody, readBytes, requireIdentity } from './read_body.ts'

/** Limit of a whole batch with its files. */
const MAX_UPLOAD_BYTES = 160 * 1024 * 1024
/** Limit of strings that are extracted: 1,000 files, and the html of 100 emails. */
const MAX_STRINGS = 1_100

/**
 * Memory that the files of all uploads of a process may take while they are received and stored, in all and per account.
 * ONE_UPLOAD is about what one of them takes; uploads beyond the budget wait unread. One account, whose files may arrive
 * slowly, leaves room for four uploads of others. The JSON around the files counts as any other body (budget.ts).
 */
const FILES_BUDGET = new SharedBudget(64 * 1024 * 1024, 48 * 1024 * 1024)
const ONE_UPLOAD = 4 * 1024 * 1024

const HTML_PATH = ['*', 'html'] as const
const PATHS = [['attachments', '*', 'content'], ['*', 'attachments', '*', 'content'], HTML_PATH] as const

/** Like `readBody`, for emails: the content of an attachment becomes an UploadedContent, or a WrongContent. */
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

/** If a part of the body is still unread, the connection cannot be used for another request, and is closed. */
function giveUp(ctx: Context): (error: unknown) => never {
  return error => {
    if (!ctx.req.readableEnded) ctx.set('connection', 'close')
    throw error
  }
}

/** Skips batches: their route checks each email, since a permissive batch rejects only the emails that cannot be stored. */
function findUnstorableEmail(body: unknown): string | null {
  return Array.isArray(body) ? null : findUnstorable(body)
}

async function readSmall(ctx: Context): Promise<unknown> {
  const body = await parseBody(await readBytes(ctx.req, SMALL), findUnstorableEmail)
  decodeContents(body)
  return body
}

/** Stores the files of a long body, and html beyond MAX_KEPT, while they arrive. Only the rest is kept in memory and parsed. */
async function readLarge(ctx: Context, length: number, held: Held): Promise<unknown> {
  if (Number.isFinite(length) && length > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES)
  const gone = new AbortController()
  ctx.req.once('close', () => gone.abort(notWhole(new Error('the client disconnected while it waited'))))
  const release = await FILES_BUDGET.acquire(ctx.state.caller.account_id, ONE_UPLOAD, gone.signal)
  try {
    return await extractBody(ctx, Math.min(length, MAX_BODY_BYTES + MAX_KEPT), held)
  } finally {
    release()
  }
}

/** @param most bytes that are kept in memory at most */
async function extractBody(ctx: Context, most: number, held: Held): Promise<unknown> {
  const { account_id } = ctx.state.caller
  const files = new ArrivingFiles(ctx.blobs, account_id)
  const html = new ArrivingHtml(ctx.blobs, account_id, MAX_BODY_BYTES)
  const values: unknown[] = []
  const take = async (part: StringPart) => {
    const value = await (part.path === HTML_PATH ? html : files).take(part)
    if (part.is_last) values[part.index] = value
  }
  const hold = holdAsItGrows(ctx, most, held)
  const onLength = (length: number) => hold(length + html.kept)
  const limits = { paths: PATHS, max_bytes: MAX_BODY_BYTES, max_strings: MAX_STRINGS }
  try {
    const skeleton = await extractStrings(bounded(ctx.req), { ...limits, onLength }, take)
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
async function* bounded(request: IncomingMessage): AsyncIterable<Buffer> {
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
  if (!(error instanceof SyntaxError)) return error
  return new ApiError('validation_error', NOT_JSON, { cause: error })
}

function notWhole(cause: unknown): ApiError {
  return new ApiError('validation_error', NOT_WHOLE, { cause })
}

function tooLarge(limit: number): ApiError {
  return new ApiError('validation_error', `The body is larger than ${limit} bytes.`)
}
