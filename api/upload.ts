import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { unavailable } from '../flows/accept_emails.ts'
import type { Blobs } from '../flows/blobs.ts'
import { Base64Decoder } from '../lib/base64_decoder.ts'
import { ByteBudget } from '../lib/byte_budget.ts'
import { rechunk } from '../lib/chunker.ts'
import { ApiError } from '../lib/errors.ts'
import { extractStrings, type StringPart, TooLargeError } from '../lib/extract_strings.ts'
import { decodeContents, replaceContents, UploadedContent, WrongContent } from '../lib/uploaded_content.ts'
import type { Blob } from '../sql/blobs.ts'
import { MAX_BODY_BYTES, parseJson, readBytes, requireIdentity } from './body.ts'
import type { Context, Middleware } from './context.ts'

/** A body is read as a whole up to this length: longer ones have a file in them, or several. */
const SMALL = 1024 * 1024

/** Of a whole batch with its files. */
const MAX_UPLOAD_BYTES = 160 * 1024 * 1024
const MAX_FILES = 1_000

/** What all uploads of a process may take of its memory, and about what one takes; the others wait unread. */
const BUDGET = new ByteBudget(64 * 1024 * 1024)
const ONE_UPLOAD = 4 * 1024 * 1024

/** The same for what is read as a whole, where bodies up to TINY take nothing: they never wait for others. */
const SMALL_BUDGET = new ByteBudget(8 * 1024 * 1024)
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
    ctx.state.body = await readLarge(ctx, length)
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

async function readSmall(ctx: Context): Promise<unknown> {
  const bytes = await readBytes(ctx.req)
  if (bytes.length === 0) return undefined
  const body = parseJson(bytes)
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
  const files = new Files(ctx.blobs, ctx.state.caller.account_id)
  const limits = { paths: CONTENT_PATHS, max_bytes: MAX_BODY_BYTES, max_strings: MAX_FILES }
  try {
    const skeleton = await extractStrings(bounded(ctx.req), limits, part => files.take(part))
    if (skeleton.bytes.length === 0) return undefined
    const body = parseJson(skeleton.bytes)
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
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    count += piece.length
    if (count > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES)
    yield piece
  }
}

function toApiError(error: unknown): unknown {
  if (error instanceof TooLargeError) return tooLarge(MAX_BODY_BYTES)
  if (error instanceof SyntaxError) {
    return new ApiError('validation_error', 'The body is not valid JSON.', { cause: error, headers: CLOSE })
  }
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ECONNRESET' && code !== 'ERR_STREAM_PREMATURE_CLOSE') return error
  return notWhole(error)
}

function notWhole(cause: unknown): ApiError {
  return new ApiError('validation_error', 'The body did not arrive whole.', { cause, headers: CLOSE })
}

/** What was not read cannot be skipped: the connection is of no more use. */
const CLOSE = { connection: 'close' }

function tooLarge(limit: number): ApiError {
  return new ApiError('validation_error', `The body is larger than ${limit} bytes.`, { headers: CLOSE })
}

type Arriving = { decoder: Base64Decoder; pieces: PassThrough; blob: Promise<Blob> }

/** The files of one body, which come one after the other. */
class Files {
  readonly contents: (UploadedContent | WrongContent)[] = []
  readonly #blobs: Blobs
  readonly #account_id: string
  #current: Arriving | null = null

  constructor(blobs: Blobs, account_id: string) {
    this.#blobs = blobs
    this.#account_id = account_id
  }

  async take({ index, bytes, is_last }: StringPart): Promise<void> {
    this.#current ??= this.#begin()
    const { decoder, pieces, blob } = this.#current
    await this.#pass(decoder.write(bytes))
    if (!is_last) return

    const end = decoder.end()
    if ('fault' in end) {
      this.contents[index] = new WrongContent(end.fault)
      await this.stop()
      return
    }
    await this.#pass(end.bytes)
    pieces.end()
    const { id } = await blob
    this.contents[index] = new UploadedContent(end.sha256.toString('hex'), end.size, { blob_id: id })
    this.#current = null
  }

  /** What has arrived of a file that does not arrive whole is not kept. */
  async stop(): Promise<void> {
    const current = this.#current
    this.#current = null
    current?.pieces.destroy()
    await current?.blob.catch(() => {})
  }

  #begin(): Arriving {
    const pieces = new PassThrough({ objectMode: true, highWaterMark: 2 })
    const blob = this.#blobs.write(this.#account_id, rechunk(pieces))
    blob.catch(() => pieces.destroy()) // without the error, for which nobody may listen: the next to pass a piece is told
    return { decoder: new Base64Decoder(), pieces, blob }
  }

  async #pass(bytes: Buffer): Promise<void> {
    const { pieces, blob } = this.#current as Arriving
    if (bytes.length === 0) return
    if (pieces.destroyed) await blob
    if (!pieces.write(bytes)) await Promise.race([once(pieces, 'drain'), blob])
  }
}

function once(stream: PassThrough, event: string): Promise<void> {
  return new Promise(resolve => stream.once(event, () => resolve()))
}
