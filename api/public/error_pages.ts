import type { Context } from '#api/context.ts'
import { isPassing } from '#api/middleware/errors.ts'
import { ApiError } from '#lib/errors.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import { languageOf, showPage } from './page.ts'

/** Shows the same page for invalid tokens and for records that no longer exist, so that nobody learns which it is. */
export function showBadLink(ctx: Context): void {
  const language = languageOf(ctx)
  const { bad_link, bad_link_help } = language.words
  showPage(ctx, language, 404, message(bad_link, bad_link_help))
}

/**
 * Shows that a request failed. The status is never 200, so that clients try again. Only `prefix` of the path is logged, since
 * anybody who has the token could use it.
 */
export function showError(ctx: Context, error: unknown, prefix: string): void {
  const language = languageOf(ctx)
  const { unavailable, unavailable_help } = language.words
  const isRefused = error instanceof ApiError && error.statusCode < 500
  const status = isRefused ? 400 : isPassing(error) ? 503 : 500
  if (!isRefused) ctx.log.error({ err: error, method: ctx.method, path: prefix }, 'a request failed')
  showPage(ctx, language, status, message(unavailable, unavailable_help))
  if (error instanceof ApiError) ctx.set(error.headers)
  if (status === 503) ctx.set('retry-after', '5')
}

function message(title: string, text: string) {
  const heading = escapeHtml(title)
  return { title: heading, body: `<h1>${heading}</h1>\n<p>${escapeHtml(text)}</p>` }
}
