import { clientAddress } from '#api/client_address.ts'
import type { Context, CountSend, Middleware } from '#api/context.ts'
import { createCountAddress, tooManySends, WINDOW_S } from '#flows/accounts/count_sends.ts'
import type { Foundation } from '#flows/process/run_process.ts'

/** Returns null if sends are not limited. */
export function createCountSend(foundation: Foundation): CountSend | null {
  const countAddress = createCountAddress(foundation)
  if (!countAddress) return null
  return ctx => countAddress(clientAddress(ctx))
}

/** Limits routes that send: after the check of the key's scope, and before any other check of the request. */
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
