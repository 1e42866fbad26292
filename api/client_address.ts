import type { IncomingMessage } from 'node:http'
import type { Config } from '#lib/config.ts'
import { findClient } from '#lib/net/client_address.ts'
import type { Context } from './context.ts'

/** Returns the address that a request comes from; empty if the client has already disconnected. */
export function clientAddress(ctx: Context): string {
  return addressOfRequest(ctx.req, ctx.config)
}

/** The same for a request for which Koa has not made a context yet. */
export function addressOfRequest(
  request: IncomingMessage,
  { TRUSTED_PROXIES }: Pick<Config, 'TRUSTED_PROXIES'>,
): string {
  // Node parses the headers on first access.
  const forwarded_for = TRUSTED_PROXIES ? String(request.headers['x-forwarded-for'] ?? '') : ''
  return findClient(request.socket.remoteAddress ?? '', forwarded_for, TRUSTED_PROXIES)
}
