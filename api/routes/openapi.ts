import { createHash } from 'node:crypto'
import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { createDocument } from '#api/openapi/document.ts'
import { resources } from './index.ts'

const OPENAPI_PATH = '/api/openapi.json'

/** Serves the OpenAPI document, which is made at the first request. It needs no API key. */
export function openapiRouter(base_url: string): Router<State, Services> {
  let made: { text: string; etag: string } | null = null
  const router = new Router<State, Services>()
  router.get(OPENAPI_PATH, async ctx => {
    made ??= makeDocument(base_url)
    ctx.status = 200
    ctx.set({ etag: made.etag, 'cache-control': 'no-cache', 'access-control-allow-origin': '*' })
    ctx.type = 'application/json'
    ctx.body = made.text
    if (ctx.fresh) ctx.status = 304
  })
  return router
}

function makeDocument(base_url: string): { text: string; etag: string } {
  const text = JSON.stringify(createDocument(resources, base_url))
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` }
}
