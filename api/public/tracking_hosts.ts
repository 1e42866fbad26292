import type { Middleware } from '#api/context.ts'
import type { IsTrackingHost } from '#flows/tracking/tracking_hosts.ts'
import { showBadLink } from './error_pages.ts'

/** Prefixes of the pages for recipients, besides pixels and links (tracking.ts). */
const PAGES = ['/u/', '/p/']

/** A host name with a dot that is not an IPv4 address. Only such a name can be a tracking host. */
export const HOST = /^(?=.{4,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/

/** Serves only the pages for recipients on tracking hosts, since these belong to the customer's domain and not to this server. */
export function onlyPublicPages(isTrackingHost: IsTrackingHost, base_url: string): Middleware {
  const own = new URL(base_url).hostname
  return async (ctx, next) => {
    if (PAGES.some(page => ctx.path.startsWith(page))) return next()
    const host = hostOf(ctx.req.headers.host ?? '')
    if (host === own || !HOST.test(host) || !(await isTrackingHost(host))) return next()
    showBadLink(ctx)
  }
}

/** Returns the host name of a Host header, without the port and without a final dot. */
export function hostOf(header: string): string {
  return header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
