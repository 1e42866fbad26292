import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Router from '@koa/router'
import type { Context, Services, State } from '#api/context.ts'
import type { Html } from '#web/html.ts'
import { articleHtml, layout } from './layout.ts'
import { type Library, openLibrary } from './library.ts'
import { SearchIndex } from './search.ts'
import { indexHtml, llmsText, missingHtml, searchHtml } from './views.ts'

const STYLE = readFileSync(join(import.meta.dirname, '../styles/docs.css'), 'utf8')
const STYLE_URL = `/docs/style.css?v=${createHash('sha256').update(STYLE).digest('hex').slice(0, 12)}`
const YEAR_S = 31_536_000
const HOUR_S = 3_600
const LONGEST_QUESTION = 200

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type Opened = { library: Library; index: SearchIndex }

/** Serves the docs to everybody, without a key. The pages are made when somebody first asks for one. */
export function docsRouter(base_url: string): Router<State, Services> {
  let opening: Promise<Opened> | null = null
  const open = () => {
    opening ??= openLibrary(base_url).then(library => ({ library, index: new SearchIndex(library) }))
    return opening
  }
  const router = new Router<State, Services>()
  router.get('/docs/style.css', ctx => send(ctx, 'text/css', STYLE, `public, max-age=${YEAR_S}, immutable`))
  router.get('/llms.txt', async ctx => send(ctx, 'text/plain', llmsText((await open()).library, base_url)))
  router.get('/docs', async ctx => {
    const { library } = await open()
    show(ctx, { title: 'Contents', library, current: null, body: indexHtml(library) })
  })
  router.get('/docs/search', async ctx => {
    const { library, index } = await open()
    const question = [ctx.query.q].flat()[0]?.slice(0, LONGEST_QUESTION) ?? ''
    show(ctx, { title: 'Search', library, current: null, question, body: searchHtml(question, index.find(question)) })
  })
  router.get('/docs/*path', async ctx => showPage(ctx, (await open()).library))
  return router
}

function showPage(ctx: Context, library: Library): void {
  const path = ctx.path.slice('/docs/'.length).replace(/\/$/, '')
  const page = library.pages.get(path.replace(/\.md$/, ''))
  if (!page) {
    show(ctx, { title: 'Page not found', library, current: null, body: missingHtml() }, 404)
  } else if (path.endsWith('.md')) {
    send(ctx, 'text/markdown', page.markdown)
  } else {
    show(ctx, { title: page.title, library, current: page.slug, body: articleHtml(page) })
  }
}

type Shown = { title: string; library: Library; current: string | null; question?: string; body: Html }

function show(ctx: Context, shown: Shown, status = 200): void {
  ctx.set({ 'content-security-policy': POLICY, 'referrer-policy': 'same-origin' })
  send(ctx, 'text/html', String(layout({ ...shown, style_url: STYLE_URL })))
  if (status !== 200) ctx.status = status
}

function send(ctx: Context, type: string, text: string, cache_control = `public, max-age=${HOUR_S}`): void {
  ctx.status = 200
  ctx.set({ 'cache-control': cache_control, 'x-content-type-options': 'nosniff' })
  ctx.set('etag', `"${createHash('sha256').update(text).digest('base64url')}"`)
  ctx.set('content-type', `${type}; charset=utf-8`)
  ctx.body = text
  if (ctx.fresh) ctx.status = 304
}
