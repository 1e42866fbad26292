import type { Context } from '#api/context.ts'

const COOKIE = 'mailbrook_notice'
const MAX_LENGTH = 300
const MAX_AGE_MS = 60_000

/** Stores a notice in a cookie, for the next page that the browser opens. */
export function setNotice(ctx: Context, text: string): void {
  // A cut in the middle of a surrogate pair cannot be encoded.
  const value = encodeURIComponent(text.slice(0, MAX_LENGTH).toWellFormed())
  ctx.cookies.set(COOKIE, value, { httpOnly: true, sameSite: 'lax', path: '/', maxAge: MAX_AGE_MS })
}

/** Returns the notice and removes it; null if there is none. */
export function popNotice(ctx: Context): string | null {
  const value = ctx.cookies.get(COOKIE)
  if (!value) return null
  ctx.cookies.set(COOKIE, null, { path: '/' })
  try {
    return decodeURIComponent(value)
  } catch {
    return null // not set by this server
  }
}
