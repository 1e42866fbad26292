import { clientAddress } from '#api/client_address.ts'
import type { Context, Middleware } from '#api/context.ts'
import { isTrackingHost } from '#sql/tracking/tracking_hosts.ts'
import { HOST, hostOf } from './tracking_hosts.ts'

const PATH = '/tls/ask'
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1)$/

/**
 * Tells the proxy in front whether it may get a certificate for a host (`ask` of Caddy's on-demand TLS): 200 for the host of
 * BASE_URL and for verified tracking hosts, otherwise 404. The route exists only for requests from this machine itself.
 */
export function tlsAsk(base_url: string): Middleware {
  const own = new URL(base_url).hostname
  return async (ctx, next) => {
    if (ctx.path !== PATH || ctx.method !== 'GET' || !isLocal(ctx)) return next()
    const host = hostOf(String(ctx.query.domain ?? ''))
    const isOurs = host === own || (HOST.test(host) && (await isTrackingHost(ctx.pool, host)))
    ctx.status = isOurs ? 200 : 404
    ctx.body = isOurs ? 'yes' : 'no'
  }
}

/** True if this machine sent the request. Requests that a proxy passes on do not count, even if TRUSTED_PROXIES is not set. */
function isLocal(ctx: Context): boolean {
  const isPassedOn = ctx.get('x-forwarded-for') !== '' && !ctx.config.TRUSTED_PROXIES
  return !isPassedOn && LOOPBACK.test(clientAddress(ctx))
}
