import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import type { Middleware } from '#api/context.ts'
import { TimeSlice } from '#lib/async/time_slice.ts'
import { ApiError } from '#lib/errors.ts'
import { parseJson } from '#lib/json/parse_json.ts'
import { JsonLimitError, type JsonLimits } from '#lib/json/scanner.ts'
import { findUnstorable, MAX_DEPTH } from '#lib/json/unstorable_json.ts'
import { holdBody } from './budget.ts'

/** Limit for an email, a template or a whole batch of emails, without the files in it. */
export const MAX_BODY_BYTES = 10 * 1024 * 1024

/** Limit for a batch of contacts. */
const MAX_CONTACTS_BYTES = 20 * 1024 * 1024

/** Limit for all other bodies. */
const MAX_OTHER_BYTES = 1024 * 1024

/** Limits of JSON: an email has at most 2,000 keys and values, and a batch 100 emails. Parsing 20,000 takes 20 ms. */
const LIMITS = { depth: MAX_DEPTH, values: 20_000, total: 400_000 }

/** Ten thousand contacts with a hundred properties. */
const CONTACTS_LIMITS = { depth: MAX_DEPTH, values: 2_200_000, total: 2_200_000 }

export const NOT_WHOLE = 'The body did not arrive whole.'
export const NOT_JSON = 'The body is not valid JSON.'

/** Reads a JSON body into `ctx.state.body`, which is undefined if the request has no body. The content type is ignored. */
export const readBody: Middleware = bodyReader(MAX_OTHER_BYTES)
export const readTemplateBody: Middleware = bodyReader(MAX_BODY_BYTES)
export const readContactsBody: Middleware = bodyReader(MAX_CONTACTS_BYTES, CONTACTS_LIMITS)

/** For the caller to check whether values can be stored. */
export const readUncheckedBody: Middleware = bodyReader(MAX_BODY_BYTES, LIMITS, () => null)

function bodyReader(max_bytes: number, limits: JsonLimits = LIMITS, check = findUnstorable): Middleware {
  return async (ctx, next) => {
    requireIdentity(ctx.req)
    const length = Number(ctx.get('content-length') || max_bytes)
    const release = await holdBody(ctx, Math.min(length, max_bytes))
    try {
      ctx.state.body = await parseBody(await readBytes(ctx.req, max_bytes), check, limits)
      await next()
    } finally {
      release()
    }
  }
}

export function requireIdentity(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding']
  if (encoding && encoding !== 'identity') {
    throw new ApiError('validation_error', `Content-Encoding \`${encoding.slice(0, 50)}\` is not supported.`)
  }
}

export async function readBytes(request: IncomingMessage, max_bytes: number): Promise<Buffer> {
  try {
    return await getRawBody(request, { limit: max_bytes, length: request.headers['content-length'] ?? null })
  } catch (cause) {
    const tooLarge = (cause as { type?: string }).type === 'entity.too.large'
    const message = tooLarge ? `The body is larger than ${max_bytes} bytes.` : NOT_WHOLE
    // The rest of the body is still on the connection, so that it cannot be used for another request.
    throw new ApiError('validation_error', message, { cause, headers: { connection: 'close' } })
  }
}

/**
 * Parses the bytes of a body, in turns with other requests. Returns undefined if there are none. `check` returns the reason
 * why the value cannot be stored, or null.
 */
export async function parseBody(
  bytes: Buffer,
  check: (value: unknown) => string | null = findUnstorable,
  limits: JsonLimits = LIMITS,
): Promise<unknown> {
  if (bytes.length === 0) return undefined
  const slice = new TimeSlice()
  let value: unknown
  try {
    value = await parseJson(bytes, limits, slice)
  } catch (cause) {
    const message = cause instanceof JsonLimitError ? `The body ${cause.message}.` : NOT_JSON
    throw new ApiError('validation_error', message, { cause })
  }
  if (slice.isOver) await slice.pause()
  const reason = check(value)
  if (reason) throw new ApiError('validation_error', `The body cannot be stored: ${reason}.`)
  if (slice.isOver) await slice.pause()
  return value
}
