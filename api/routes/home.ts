import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mailbrook</title>
<h1>Mailbrook</h1>
<p>This server sends and receives email over an HTTP API, whose base URL ends in <code>/api</code>.
<ul>
<li><a href="/api/openapi.json">Description of the API</a> (OpenAPI 3.1)
<li><a href="/healthz">Is this process alive?</a>
<li><a href="/readyz">Can it serve requests?</a>
</ul>
`

/** Tells a person who opens the address of the server in a browser what it is. */
export const home = new Router<State, Services>()

home.get('/', async (ctx, next) => {
  if (ctx.accepts('json', 'html') !== 'html') return next()
  ctx.set('content-security-policy', "default-src 'none'")
  ctx.type = 'html'
  ctx.body = PAGE
})
