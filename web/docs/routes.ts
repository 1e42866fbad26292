import { createHash } from 'node:crypto'
import Router from '@koa/router'
import type { Context, Services, State } from '#api/context.ts'
import type { Html } from '#web/html.ts'
import { articleHtml, layout } from './layout.ts'
import { type Library, loadLibrary } from './library.ts'
import { SearchIndex } from './search.ts'
import { indexHtml, llmsText, notFoundHtml, searchHtml } from './views.ts'

const HOUR_S = 3_600
const MAX_QUERY_LENGTH = 200

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type Docs = { library: Library; index: SearchIndex }

/** Serves the docs without authentication. The pages are rendered at the first request. */
export function docsRouter(base_url: string): Router<State, Services> {
  let loading: Promise<Docs> | null = null
  const load = () => {
    loading ??= loadLibrary(base_url).then(library => ({ library, index: new SearchIndex(library) }))
    return loading
  }
  const router = new Router<State, Services>()
  router.get('/llms.txt', async ctx => send(ctx, 'text/plain', llmsText((await load()).library, base_url)))
  router.get('/docs', async ctx => {
    const { library } = await load()
    show(ctx, { title: 'Contents', library, current: null, body: indexHtml(library) })
  })
  router.get('/docs/search', async ctx => {
    const { library, index } = await load()
    const query = [ctx.query.q].flat()[0]?.slice(0, MAX_QUERY_LENGTH) ?? ''
    show(ctx, { title: 'Search', library, current: null, query, body: searchHtml(query, index.find(query)) })
  })
  router.get('/docs/*path', async ctx => showPage(ctx, (await load()).library))
  return router
}

function showPage(ctx: Context, library: Library): void {
  const path = ctx.path.slice('/docs/'.length).replace(/\/$/, '')
  const page = library.pages.get(path.replace(/\.md$/, ''))
  if (!page) {
    show(ctx, { title: 'Page not found', library, current: null, body: notFoundHtml() }, 404)
  } else if (path.endsWith('.md')) {
    send(ctx, 'text/markdown', page.markdown)
  } else {
    show(ctx, { title: page.title, library, current: page.slug, body: articleHtml(page) })
  }
}

type Content = { title: string; library: Library; current: string | null; query?: string; body: Html }

function show(ctx: Context, content: Content, status = 200): void {
  ctx.set({ 'content-security-policy': POLICY, 'referrer-policy': 'same-origin' })
  send(ctx, 'text/html', String(layout(content)))
  if (status !== 200) ctx.status = status
}

function send(ctx: Context, type: string, text: string): void {
  ctx.status = 200
  ctx.set({ 'cache-control': `public, max-age=${HOUR_S}`, 'x-content-type-options': 'nosniff' })
  ctx.set('etag', `"${createHash('sha256').update(text).digest('base64url')}"`)
  ctx.set('content-type', `${type}; charset=utf-8`)
  ctx.body = text
  if (ctx.fresh) ctx.status = 304
}
