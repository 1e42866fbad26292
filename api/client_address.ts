import { findClient } from '#lib/net/client_address.ts'
import type { Context } from './context.ts'

/** The address that a request comes from; empty if the client has gone away already. */
export function clientAddress(ctx: Context): string {
  return findClient(ctx.req.socket.remoteAddress ?? '', ctx.get('x-forwarded-for'), ctx.config.TRUSTED_PROXIES)
}
