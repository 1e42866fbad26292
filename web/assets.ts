import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'

const TURBO = createRequire(import.meta.url).resolve('@hotwired/turbo')
const YEAR_S = 31_536_000

const files = {
  'dashboard.css': { type: 'text/css', path: join(import.meta.dirname, 'styles/dashboard.css') },
  'docs.css': { type: 'text/css', path: join(import.meta.dirname, 'styles/docs.css') },
  'dashboard.js': { type: 'text/javascript', path: join(import.meta.dirname, 'scripts/dashboard.js') },
  'editor.js': { type: 'text/javascript', path: join(import.meta.dirname, 'scripts/editor.js') },
  'shortcuts.js': { type: 'text/javascript', path: join(import.meta.dirname, 'scripts/shortcuts.js') },
  'turbo.js': { type: 'text/javascript', path: TURBO.replace(/turbo\.[\w-]+\.js$/, 'turbo.es2017-umd.js') },
}

/** Removed from Turbo: it inserts a style into each page, which the content security policy blocks. dashboard.css has one instead. */
const INSERT_STYLE = 'this.installStylesheetElement();'

const assets = new Map(
  Object.entries(files).map(([name, { type, path }]) => {
    const file = readFileSync(path, 'utf8')
    if (name === 'turbo.js' && !file.includes(INSERT_STYLE)) throw new Error('Turbo has changed: see INSERT_STYLE')
    const text = file.replace(INSERT_STYLE, '')
    return [name, { type, text, version: createHash('sha256').update(text).digest('hex').slice(0, 12) }]
  }),
)

/** Returns the URL of a style or a script. It changes with the content. */
export function assetUrl(name: keyof typeof files): string {
  return `/assets/${name}?v=${assets.get(name)?.version}`
}

/** Serves styles and scripts. Browsers cache them until their URL changes. */
export const assetsRouter = new Router<State, Services>()

assetsRouter.get('/assets/:name', async (ctx, next) => {
  const asset = assets.get(ctx.params.name ?? '')
  if (!asset) return next()
  ctx.set({ 'cache-control': `public, max-age=${YEAR_S}, immutable`, 'x-content-type-options': 'nosniff' })
  ctx.set('content-type', `${asset.type}; charset=utf-8`)
  ctx.body = asset.text
})
