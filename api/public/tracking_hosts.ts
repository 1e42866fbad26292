import type { Middleware } from '#api/context.ts'
import type { IsTrackingHost } from '#flows/tracking/tracking_hosts.ts'
import { showBadLink } from './error_pages.ts'

/** Pages of recipients, besides pixels and links (tracking.ts). */
const PAGES = ['/u/', '/p/']

/** A name with a dot that is no IPv4 address: any other is no tracking host. */
export const HOST = /^(?=.{4,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/

/** On the tracking host of a domain there is nothing but the pages of recipients: it is the domain's, not this server's. */
export function onlyPublicPages(isTrackingHost: IsTrackingHost, base_url: string): Middleware {
  const own = new URL(base_url).hostname
  return async (ctx, next) => {
    if (PAGES.some(page => ctx.path.startsWith(page))) return next()
    const host = hostOf(ctx.req.headers.host ?? '')
    if (host === own || !HOST.test(host) || !(await isTrackingHost(host))) return next()
    showBadLink(ctx)
  }
}

/** Without the port, and without the dot at the end of a whole name. */
export function hostOf(header: string): string {
  return header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
