import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { ApiError } from '../lib/errors.ts'
import { findUnstorable } from '../lib/storable.ts'
import type { Middleware } from './context.ts'

/** Without the files in it. */
export const MAX_BODY_BYTES = 10 * 1024 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a JSON body into `ctx.state.body`; none, of any content type, is undefined. */
export const readBody: Middleware = async (ctx, next) => {
  requireIdentity(ctx.req)
  const bytes = await readBytes(ctx.req)
  ctx.state.body = bytes.length === 0 ? undefined : parseJson(bytes)
  await next()
}

export function requireIdentity(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding']
  if (encoding && encoding !== 'identity') {
    throw new ApiError('validation_error', `Content-Encoding \`${encoding.slice(0, 50)}\` is not supported.`)
  }
}

export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  try {
    return await getRawBody(request, { limit: MAX_BODY_BYTES, length: request.headers['content-length'] ?? null })
  } catch (cause) {
    const tooLarge = (cause as { type?: string }).type === 'entity.too.large'
    const message = tooLarge ? `The body is larger than ${MAX_BODY_BYTES} bytes.` : 'The body did not arrive whole.'
    // What was not read cannot be skipped: the connection is of no more use.
    throw new ApiError('validation_error', message, { cause, headers: { connection: 'close' } })
  }
}

/** `check` says why the value cannot be stored, or null. */
export function parseJson(bytes: Buffer, check: (value: unknown) => string | null = findUnstorable): unknown {
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    throw new ApiError('validation_error', 'The body is not valid JSON.', { cause })
  }
  const reason = check(value)
  if (reason) throw new ApiError('validation_error', `The body cannot be stored: ${reason}.`)
  return value
}
