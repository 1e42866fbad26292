import type { Context, Middleware } from '#api/context.ts'
import { answerTo, isPassing } from '#api/middleware/errors.ts'
import type { ApiError } from '#lib/errors.ts'
import { type Html, html } from '#web/html.ts'
import { failurePage } from '#web/layout/frame.ts'
import { keepForm } from './kept_form.ts'
import { respondHtml } from './respond.ts'

/** Returns true for requests of browsers. Requests with an API key, or that prefer JSON, are for the API. */
export function isFromBrowser(ctx: Context): boolean {
  return !ctx.get('authorization') && ctx.accepts('json', 'html') === 'html'
}

/** Shows browsers a page if a request fails, or if no route has its address. Other clients get the error as JSON. */
export const showErrors: Middleware = async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    if (!isFromBrowser(ctx)) throw error
    const answer = answerTo(ctx, error, [])
    const isOverload = isPassing(error)
    const [title, body] =
      isOverload || answer.statusCode >= 500 ? await failure(ctx, isOverload) : rejection(ctx, answer)
    ctx.remove('content-disposition') // of a download that could not be made
    ctx.set(answer.headers)
    respondHtml(ctx, await failurePage(title, body), isOverload ? 503 : answer.statusCode)
  }
}

function rejection({ config }: Context, { name, statusCode, message }: ApiError): [title: string, body: Html] {
  const overview = html`<p><a href="/">Go to the overview</a></p>`
  if (name === 'not_found') return ['Not found', html`<p>There is no page at this address.</p>${overview}`]
  // Forms are rejected with 403 from pages at another address than that of the server.
  const ownPage = html`<p><a href="${config.BASE_URL}">Go to ${config.BASE_URL}</a></p>`
  return ['Request rejected', html`<p role="alert">${message}</p>${statusCode === 403 ? ownPage : overview}`]
}

async function failure(ctx: Context, isOverload: boolean): Promise<[title: string, body: Html]> {
  const title = isOverload ? 'The server is overloaded' : 'The server failed'
  const hint = isOverload
    ? 'It has too much to do, or cannot reach its database. Try again in a few seconds.'
    : 'Try again later. If it fails again, ask an operator of this server to look into its log.'
  if (ctx.method !== 'POST') {
    return [title, html`<p role="alert">${hint}</p><p><a href="${ctx.url}">Try again</a></p>`]
  }
  const kept = await keepForm(ctx)
  const again =
    kept && html`<form method="post" action="${ctx.url}">${kept}<p><button>Show the form again</button></p></form>`
  return [
    title,
    html`<p role="alert">${hint}</p>
<p>It is not known if your change was made: see whether it is there before you repeat it.</p>
${again ?? ''}<p><a href="/">Go to the overview</a></p>`,
  ]
}
