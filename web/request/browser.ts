import type { Context, Middleware } from '#api/context.ts'
import { ApiError } from '#lib/errors.ts'
import { html } from '#web/html.ts'
import { plainPage } from '#web/layout/frame.ts'
import { respondHtml } from './respond.ts'

/** Returns true for requests of browsers. Requests with an API key, or that prefer JSON, are for the API. */
export function isFromBrowser(ctx: Context): boolean {
  return !ctx.get('authorization') && ctx.accepts('json', 'html') === 'html'
}

/** Shows browsers a page if no route has the address. Other clients get the error as JSON. */
export const showNotFound: Middleware = async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    if (!(error instanceof ApiError && error.name === 'not_found' && isFromBrowser(ctx))) throw error
    const body = html`<p>There is no page at this address.</p><p><a href="/">Go to the overview</a></p>`
    respondHtml(ctx, await plainPage('Not found', body), 404)
  }
}
