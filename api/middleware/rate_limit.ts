import type { Context, CountSend, Middleware } from '#api/context.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import { findClient, networkOf } from '#lib/net/client_address.ts'
import { type CountUse, createCountUse } from '#sql/accounts/rate_limits.ts'

const WINDOW_S = 60

/** Null when sends are not limited. */
export function createCountSend(foundation: Foundation): CountSend | null {
  const countAddress = createCountAddress(foundation)
  if (!countAddress) return null
  const { TRUSTED_PROXIES: trusted } = foundation.config
  return ctx => {
    // There is no address when the client has gone away already, and nobody to read the answer.
    const peer = ctx.req.socket.remoteAddress ?? ''
    return countAddress(findClient(peer, ctx.get('x-forwarded-for'), trusted))
  }
}

/** Counts a send of a client address, however it is sent. Null when sends are not limited. */
export function createCountAddress({ config, log, pool }: Foundation): CountUse | null {
  const { SENDS_PER_MINUTE: uses } = config
  if (uses === 0) return null
  const onError = (error: unknown) => log.warn({ err: error }, 'sends are counted by this process alone')
  const countUse = createCountUse(pool, { name: 'send', uses, window_s: WINDOW_S, onError })
  return address => countUse(networkOf(address))
}

/** For routes that send: after the key's scope, before anything of the request is looked at (contract 1.3). */
export const limitSends: Middleware = (ctx, next) => (ctx.countSend ? limit(ctx, ctx.countSend, next) : next())

async function limit(ctx: Context, countSend: CountSend, next: () => Promise<unknown>): Promise<void> {
  const { isAllowed, remaining, reset_s } = await countSend(ctx)
  const uses = ctx.config.SENDS_PER_MINUTE
  ctx.set({
    'ratelimit-limit': String(uses),
    'ratelimit-policy': `${uses};w=${WINDOW_S}`,
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(reset_s),
  })
  if (!isAllowed) throw tooManySends(uses, reset_s)
  await next()
}

export function tooManySends(uses: number, reset_s: number): ApiError {
  const message = `Too many requests: ${uses} a minute may be sent from one address.`
  return new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': String(reset_s) } })
}
