import type { Middleware } from '#api/context.ts'
import { encodeJson } from '#lib/json/write_json.ts'

/** Characters of text in an answer, from which on it is written piece by piece. */
const LONG = 256 * 1024

/** Writes long answers in turns with other requests. Koa would write them at once, for 60 ms when they have 10 MB. */
export const answerJson: Middleware = async (ctx, next) => {
  await next()
  const { body } = ctx
  if (isJson(body) && weigh(body, LONG) >= LONG) ctx.body = await encodeJson(body)
}

function isJson(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false
  return Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype
}

/** Characters of the strings within, counted no further than to `enough`. */
function weigh(value: unknown, enough: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let weight = 0
  for (const key in value) {
    weight += weigh((value as Record<string, unknown>)[key], enough - weight)
    if (weight >= enough) break
  }
  return weight
}
