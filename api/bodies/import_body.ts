import type { Part } from 'formidable'
import type { Context, Middleware } from '#api/context.ts'
import type { ImportFile } from '#flows/contacts/import/create_import.ts'
import { SharedBudget } from '#lib/async/shared_budget.ts'
import { ApiError } from '#lib/errors.ts'
import { findUnstorable } from '#lib/json/unstorable_json.ts'
import { ArrivingBlob } from './arriving_blob.ts'
import { ArrivingCsv } from './arriving_csv.ts'
import { joinPieces } from './join_pieces.ts'
import { NOT_WHOLE, readTemplateBody, requireIdentity } from './read_body.ts'

const MEGABYTE = 1024 * 1024

/** Bytes of the fields beside the file. */
const MAX_FIELDS = MEGABYTE

/** Memory of all files that are being received, and of one file, as for attachments (upload.ts). */
const FILES_BUDGET = new SharedBudget(32 * MEGABYTE, 16 * MEGABYTE)
const ONE_FILE = 2 * MEGABYTE

/** Members of the form that are JSON. */
const JSON_FIELDS = new Set(['column_map', 'columnMap', 'segments', 'topics'])
const BOOLEAN_FIELDS = new Set([
  ...['resubscribe', 'create_properties', 'createProperties', 'trigger_automations', 'triggerAutomations'],
])

/**
 * Like `readBody`, for JSON of at most 10 MB, or for a form (multipart/form-data) with a file of at most IMPORT_MAX_MB. The
 * file is stored while it arrives, and becomes `ctx.state.file`.
 */
export const readImportBody: Middleware = async (ctx, next) => {
  if (!ctx.is('multipart')) return readTemplateBody(ctx, next)
  requireIdentity(ctx.req)
  const max_bytes = ctx.config.IMPORT_MAX_MB * MEGABYTE
  if (Number(ctx.get('content-length')) > max_bytes + MAX_FIELDS) throw tooLarge(ctx)
  const gone = new AbortController()
  ctx.req.once('close', () => gone.abort(new ApiError('validation_error', NOT_WHOLE)))
  const release = await FILES_BUDGET.acquire(ctx.state.caller.account_id, ONE_FILE, gone.signal)
  try {
    await readForm(ctx, max_bytes)
  } catch (error) {
    // The rest of the body is still on the connection, so that it cannot be used for another request.
    ctx.set('connection', 'close')
    ctx.req.resume()
    throw error
  } finally {
    release()
  }
  await next()
}

async function readForm(ctx: Context, max_bytes: number): Promise<void> {
  const files: ArrivingCsv[] = []
  const open = () => {
    const file = new ArrivingCsv(new ArrivingBlob(ctx.blobs, ctx.state.caller.account_id))
    files.push(file)
    return file
  }
  const limits = { maxFileSize: max_bytes, maxTotalFileSize: max_bytes, maxFieldsSize: MAX_FIELDS, maxFields: 50 }
  // Loaded here, since few processes ever need them.
  const [{ koaBody }, { multipart }] = await Promise.all([import('koa-body'), import('formidable')])
  const plugins = { enabledPlugins: [multipart, joinPieces, recognizeFilesByName] }
  const formidable = { ...limits, ...plugins, minFileSize: 0, allowEmptyFiles: true, fileWriteStreamHandler: open }
  const read = koaBody({ multipart: true, formidable: formidable as object })
  try {
    await read(ctx, async () => {})
  } catch (error) {
    throwFault(files)
    throw formError(ctx, error)
  }
  throwFault(files) // formidable hides a fault once it has read the last line of the form
  const [file, another] = files
  if (!file) throw new ApiError('missing_required_field', 'Missing `file` field.')
  if (another) throw new ApiError('validation_error', 'The form must have only one file.')
  const arrived = file.arrived as ImportFile
  // The digest tells two forms with an Idempotency-Key apart.
  ctx.state.body = { ...readFields(ctx.request.body as Record<string, unknown>), file: arrived.sha256 }
  ctx.state.file = arrived
}

type Form = { onPart(part: Part): unknown; _handlePart(part: Part): unknown }

/**
 * A plugin of formidable, which takes parts with a Content-Type for files and all others for fields. The type is optional for both
 * (RFC 7578 section 4.4): a file is a part that has a file name, or the name of the file's field.
 */
function recognizeFilesByName(form: Form): void {
  form.onPart = part => {
    const { 'content-disposition': disposition = '' } = (part as unknown as { headers: Record<string, string> }).headers
    const isFile = part.name === 'file' || /;\s*filename\*?=/i.test(disposition)
    part.mimetype = isFile ? part.mimetype || 'application/octet-stream' : null
    return form._handlePart(part)
  }
}

/** Codes of formidable's errors for files and fields that are too large (FormidableError.js). */
const TOO_LARGE = new Set([1009, 1016])
const ABORTED = 1002

function throwFault(files: ArrivingCsv[]): void {
  const fault = files.find(file => file.fault !== undefined)?.fault
  if (fault !== undefined) throw fault
}

function formError(ctx: Context, error: unknown): unknown {
  const { code } = error as { code?: unknown }
  if (TOO_LARGE.has(Number(code))) return tooLarge(ctx, error)
  if (code === ABORTED) return new ApiError('validation_error', NOT_WHOLE, { cause: error })
  return new ApiError('validation_error', 'The body is not a valid form (multipart/form-data).', { cause: error })
}

function tooLarge(ctx: Context, cause?: unknown): ApiError {
  const message = `The file is larger than ${ctx.config.IMPORT_MAX_MB} MB.`
  return new ApiError('validation_error', message, { cause, headers: { connection: 'close' } })
}

/** Fields of a form are text: lists, maps and booleans are written as JSON. */
function readFields(fields: Record<string, unknown>): Record<string, unknown> {
  const reason = findUnstorable(fields)
  if (reason) throw new ApiError('validation_error', `The body cannot be stored: ${reason}.`)
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, readField(name, text)]))
}

function readField(name: string, text: unknown): unknown {
  if (BOOLEAN_FIELDS.has(name)) return { true: true, false: false }[String(text)] ?? text
  if (!JSON_FIELDS.has(name) || typeof text !== 'string') return text
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ApiError('validation_error', `\`${name}\` must be JSON.`, { cause })
  }
}
