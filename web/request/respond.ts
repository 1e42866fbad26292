import type { Context } from '#api/context.ts'
import type { Html } from '#web/html.ts'

/** Scripts and styles of this server alone; mail is shown in frames, which have a policy of their own. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "frame-src 'self'"],
  ...["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

/** Responds with a page that no cache keeps. */
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

/** Responds to a script of a page. */
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

/** A path of this site; anything else that a link may hold is replaced by the first page. */
export function ownPath(path: string | undefined): string {
  return path && /^\/(?![/\\])[^\s\\]*$/.test(path) ? path : '/'
}
