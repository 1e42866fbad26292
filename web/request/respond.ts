import type { Context } from '#api/context.ts'
import type { Html } from '#web/html.ts'

/** Allows only scripts and styles of this server. The frames that show mail have their own policy. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "frame-src 'self'"],
  ...["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

/** Responds with a page, which must not be cached. */
export function respondHtml(ctx: Context, page: Html | string, status = 200): void {
  ctx.status = status
  ctx.set({
    'cache-control': 'no-store',
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
  })
  ctx.set('content-type', 'text/html; charset=utf-8')
  ctx.body = String(page)
}

/** Responds to a request by a script of a page. */
export function respondJson(ctx: Context, body: object): void {
  ctx.set('cache-control', 'no-store')
  ctx.body = body
}

/** Sends the browser to another page, by GET. */
export function redirect(ctx: Context, path: string): void {
  ctx.status = 303
  ctx.set({ location: path, 'cache-control': 'no-store' })
  ctx.body = ''
}

/** Returns the path if it is on this site and can be a header, otherwise `/`: a link must not redirect to another site. */
export function localPath(path: string | undefined): string {
  return path && /^\/(?![/\\])[!-[\]-~]*$/.test(path) ? path : '/'
}
