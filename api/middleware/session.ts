import type { Context } from '#api/context.ts'
import type { FindSession } from '#flows/members/sessions.ts'
import { ApiError } from '#lib/errors.ts'
import { may, type Role } from '#lib/members/roles.ts'
import type { Caller } from '#sql/accounts/api_keys.ts'
import type { Session } from '#sql/members/sessions.ts'

const DAY_MS = 86_400_000
const COOKIE_DAYS = 90
const SAFE = /^(?:GET|HEAD|OPTIONS)$/

/** Browsers take a `__Host-` cookie only over https, and from no other host. */
function cookieName(ctx: Context): string {
  return isSecure(ctx) ? '__Host-mailbrook' : 'mailbrook'
}

/** By BASE_URL, and not by the request: behind a proxy that ends TLS each request comes by http. */
function isSecure(ctx: Context): boolean {
  return ctx.config.BASE_URL.startsWith('https:')
}

/** Reads who is signed in; null without a valid session. */
export async function readSession(ctx: Context, findSession: FindSession): Promise<Session | null> {
  const token = ctx.cookies.get(cookieName(ctx))
  return token ? findSession(token) : null
}

/** Keeps the token of a session in the browser; null forgets it. */
export function setSessionCookie(ctx: Context, token: string | null): void {
  const secure = isSecure(ctx)
  // Koa would refuse a Secure cookie on a request that a proxy has sent by http.
  if (secure) ctx.cookies.secure = true
  const age = token === null ? 0 : COOKIE_DAYS * DAY_MS
  ctx.cookies.set(cookieName(ctx), token, { httpOnly: true, sameSite: 'lax', path: '/', secure, maxAge: age })
}

/**
 * A page of another site must not act by the session of its visitor (OWASP, cross-site request forgery). Browsers tell
 * where a request comes from; some leave Sec-Fetch-Site out on plain http, and send Origin all the same.
 */
export function requireOwnPage(ctx: Context): void {
  if (SAFE.test(ctx.method)) return
  const site = ctx.get('sec-fetch-site')
  const isOwn = site ? site === 'same-origin' : ctx.get('origin') === new URL(ctx.config.BASE_URL).origin
  if (isOwn) return
  throw new ApiError('validation_error', 'Requests from pages of other sites are not accepted.', { statusCode: 403 })
}

/** View-only members read and change nothing, whatever the path (spec, authentication 5). */
export function requireMayChange(ctx: Context, role: Role): void {
  if (SAFE.test(ctx.method) || may(role, 'change')) return
  throw new ApiError('view_only_member', 'View-only members cannot make changes.')
}

/** A member may do in the API what a key of full access may. */
export function callerOfSession({ account_id, member_id, email, role }: Session): Caller {
  const key = { permission: 'full_access', domain_id: null, default_domain_id: null } as const
  return { ...key, account_id, id: member_id, name: email, role, usable: true, expires_in_ms: null }
}
