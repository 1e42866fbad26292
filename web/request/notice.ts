import type { Context } from '#api/context.ts'

const COOKIE = 'mailbrook_notice'
const MAX_LENGTH = 300
const KEPT_MS = 60_000

/** Keeps a sentence for the page that the browser opens next. */
export function leaveNotice(ctx: Context, text: string): void {
  const value = encodeURIComponent(text.slice(0, MAX_LENGTH))
  ctx.cookies.set(COOKIE, value, { httpOnly: true, sameSite: 'lax', path: '/', maxAge: KEPT_MS })
}

/** Takes the sentence that the last action left; null without one. */
export function takeNotice(ctx: Context): string | null {
  const value = ctx.cookies.get(COOKIE)
  if (!value) return null
  ctx.cookies.set(COOKIE, null, { path: '/' })
  try {
    return decodeURIComponent(value)
  } catch {
    return null // not one of ours
  }
}
