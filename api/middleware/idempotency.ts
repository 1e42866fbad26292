import type { Context } from '#api/context.ts'
import type { RequestKey } from '#flows/sending/draft_emails.ts'
import { ApiError } from '#lib/errors.ts'
import { fingerprint } from '#lib/json/canonical_json.ts'
import { headerValues } from './errors.ts'

/** Printable ASCII: proxies on the way read other characters differently. */
const KEY = /^[\x20-\x7e]{1,255}$/

/** Returns the Idempotency-Key of a request with a fingerprint of its body, or null without a key. */
export async function readRequestKey(ctx: Context, route: string): Promise<RequestKey | null> {
  const [key, another] = headerValues(ctx.req, 'idempotency-key')
  if (key === undefined) return null
  if (another !== undefined || !KEY.test(key)) {
    throw new ApiError(
      'invalid_idempotency_key',
      'The `Idempotency-Key` header must have 1 to 255 printable characters.',
    )
  }
  return { route, key, fingerprint: (await fingerprint(ctx.method, route, ctx.state.body)).toString('hex') }
}
