import type { Context } from '#api/context.ts'
import type { FindSession } from '#flows/members/sessions.ts'
import { ApiError } from '#lib/errors.ts'
import { may, type Role } from '#lib/members/roles.ts'
import type { Caller } from '#sql/accounts/api_keys.ts'
import type { Session } from '#sql/members/sessions.ts'

const DAY_MS = 86_400_000
const COOKIE_DAYS = 90
const SAFE = /^(?:GET|HEAD|OPTIONS)$/

/** Browsers accept a `__Host-` cookie only over https, and only from this host itself. */
function cookieName(ctx: Context): string {
  return isSecure(ctx) ? '__Host-mailbrook' : 'mailbrook'
}

/** Checks BASE_URL, not the request: behind a proxy that terminates TLS, each request arrives over http. */
function isSecure(ctx: Context): boolean {
  return ctx.config.BASE_URL.startsWith('https:')
}

/** Returns the session of the request, or null without a valid one. */
export async function readSession(ctx: Context, findSession: FindSession): Promise<Session | null> {
  const token = ctx.cookies.get(cookieName(ctx))
  return token ? findSession(token) : null
}

/** Stores the token of a session in the browser; null deletes it. */
export function setSessionCookie(ctx: Context, token: string | null): void {
  const secure = isSecure(ctx)
  // Koa itself would refuse a Secure cookie if a proxy passes the request on over http.
  if (secure) ctx.cookies.secure = true
  const age = token === null ? 0 : COOKIE_DAYS * DAY_MS
  ctx.cookies.set(cookieName(ctx), token, { httpOnly: true, sameSite: 'lax', path: '/', secure, maxAge: age })
}

/**
 * Rejects pages of other sites, which must not use the session of their visitor (OWASP, cross-site request forgery).
 * Browsers send the origin of a request; some omit Sec-Fetch-Site over plain http, but still send Origin.
 */
export function requireOwnPage(ctx: Context): void {
  if (SAFE.test(ctx.method)) return
  const site = ctx.get('sec-fetch-site')
  const page = ctx.get('origin')
  const { origin } = new URL(ctx.config.BASE_URL)
  if (site ? site === 'same-origin' : page === origin) return
  const isOurs = URL.parse(page)?.host === ctx.get('host')
  const reason = isOurs
    ? `Forms are accepted only at \`BASE_URL\`, which is ${origin}: open that address, or set it to ${page}.`
    : 'Requests from pages of other sites are not accepted.'
  throw new ApiError('validation_error', reason, { statusCode: 403 })
}

/** Rejects changes by view-only members, whatever the path (spec, authentication 5). */
export function requireMayChange(ctx: Context, role: Role): void {
  if (SAFE.test(ctx.method) || may(role, 'change')) return
  throw new ApiError('view_only_member', 'View-only members cannot make changes.')
}

/** Makes a member a caller of the API, with the permissions of a key with full access. */
export function callerOfSession({ account_id, member_id, email, role }: Session): Caller {
  const key = { permission: 'full_access', domain_id: null, default_domain_id: null } as const
  return { ...key, account_id, id: member_id, name: email, role, usable: true, expires_in_ms: null }
}
