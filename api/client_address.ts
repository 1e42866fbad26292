import type { IncomingMessage } from 'node:http'
import type { Config } from '#lib/config.ts'
import { findClient } from '#lib/net/client_address.ts'
import type { Context } from './context.ts'

/** The address that a request comes from; empty if the client has gone away already. */
export function clientAddress(ctx: Context): string {
  return addressOfRequest(ctx.req, ctx.config)
}

/** The same, before Koa makes a context of the request. */
export function addressOfRequest(
  request: IncomingMessage,
  { TRUSTED_PROXIES }: Pick<Config, 'TRUSTED_PROXIES'>,
): string {
  // Node parses the headers when they are first asked for.
  const forwarded_for = TRUSTED_PROXIES ? String(request.headers['x-forwarded-for'] ?? '') : ''
  return findClient(request.socket.remoteAddress ?? '', forwarded_for, TRUSTED_PROXIES)
}
