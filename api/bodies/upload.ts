import type { Context, Middleware } from '#api/context.ts'
import { SharedBudget } from '#lib/async/shared_budget.ts'
import { decodeContents } from '#lib/files/upload/uploaded_content.ts'
import { MAX_KEPT } from './arriving_html.ts'
import { type Held, holdAsItGrows, holdBody, SMALL } from './budget.ts'
import { bounded, extractBody, findUnstorableEmail, MAX_UPLOAD_BYTES, notWhole, tooLarge } from './extract_body.ts'
import { MAX_BODY_BYTES, parseBody, readBytes, requireIdentity } from './read_body.ts'

/**
 * Memory that the files of all uploads of a process may take while they are received and stored, in all and per account.
 * ONE_UPLOAD is about what one of them takes; uploads beyond the budget wait unread. One account, whose files may arrive
 * slowly, leaves room for four uploads of others. The JSON around the files counts as any other body (budget.ts).
 */
const FILES_BUDGET = new SharedBudget(64 * 1024 * 1024, 48 * 1024 * 1024)
const ONE_UPLOAD = 4 * 1024 * 1024

/** A file as a list of bytes, or as a Buffer that JSON.stringify has written. */
const LIST = /"content"\s*:\s*[[{]/

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

async function readSmall(ctx: Context): Promise<unknown> {
  const bytes = await readBytes(ctx.req, SMALL)
  // Lists of bytes are not parsed as JSON, in which each byte would count as a value.
  if (bytes.includes('"content"') && LIST.test(bytes.toString('latin1'))) {
    return withRoom(ctx, () => extractBody(ctx, [bytes]))
  }
  const body = await parseBody(bytes, findUnstorableEmail)
  decodeContents(body)
  return body
}

/** Stores the files of a long body, and html beyond MAX_KEPT, while they arrive. Only the rest is kept in memory and parsed. */
async function readLarge(ctx: Context, length: number, held: Held): Promise<unknown> {
  if (Number.isFinite(length) && length > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES)
  const hold = holdAsItGrows(ctx, Math.min(length, MAX_BODY_BYTES + MAX_KEPT), held)
  return withRoom(ctx, () => extractBody(ctx, bounded(ctx.req), hold))
}

/** Waits until there is room for the files of another body. */
async function withRoom(ctx: Context, read: () => Promise<unknown>): Promise<unknown> {
  const gone = new AbortController()
  ctx.res.once('close', () => gone.abort(notWhole(new Error('the client disconnected while it waited'))))
  const release = await FILES_BUDGET.acquire(ctx.state.caller.account_id, ONE_UPLOAD, gone.signal)
  try {
    return await read()
  } finally {
    release()
  }
}
