import type { Middleware } from '#api/context.ts'
import { encodeJson } from '#lib/json/write_json.ts'

/** A response with at least this many characters of text is written piece by piece. */
const LONG = 256 * 1024

/** Writes long responses in turns with other requests. Koa would write them at once, and block 60 ms for 10 MB. */
export const answerJson: Middleware = async (ctx, next) => {
  await next()
  const { body } = ctx
  if (isJson(body) && weigh(body, LONG) >= LONG) ctx.body = await encodeJson(body)
}

function isJson(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false
  return Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype
}

/** Counts the characters of all strings in a value. Stops once it reaches `enough`. */
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
