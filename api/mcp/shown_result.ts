import type { JsonSchema } from '#api/openapi/json_schema.ts'
import { ApiError } from '#lib/errors.ts'
import type { Values } from './tool.ts'

/** Characters of each text. A model reads a whole result, and programs refuse one of much more than 100,000 characters. */
const MOST = 20_000

/** Argument of tools whose results have texts of any length. */
export const OFFSET: Record<string, JsonSchema> = {
  offset: {
    type: 'integer',
    minimum: 0,
    description: `At which character long texts begin. Default: 0. A result has ${MOST.toLocaleString('en')} characters of each text, and says if there are more.`,
  },
}

/** Takes the offset out of the arguments: operations do not know it. @throws {ApiError} `validation_error` */
export function takeOffset(values: Values): { offset: number; rest: Values } {
  const { offset: given, ...rest } = values
  const offset = Number(given ?? 0)
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new ApiError('validation_error', '`offset` must be an integer of at least 0.')
  return { offset, rest }
}

/**
 * Writes a result as JSON, with MOST characters of each long text. Returns a note about those that are cut as well; it names
 * only members of the result itself, since names further down may be from strangers.
 */
export function showResult(
  result: unknown,
  offset: number,
  tool: string | null,
): { json: string; note: string | null } {
  const cut = new Map<string, number>()
  let member = ''
  const json = JSON.stringify(result, function (this: unknown, name: string, value: unknown) {
    if (this === result) member = name
    if (typeof value !== 'string' || value.length <= MOST) return value
    cut.set(member, Math.max(value.length, cut.get(member) ?? 0))
    return value.slice(boundary(value, offset), boundary(value, offset + MOST))
  })
  if (cut.size === 0) return { json, note: null }
  const end = offset + MOST
  const lengths = [...cut].map(([name, length]) => `\`${name}\` has ${length} characters`).join(', ')
  const more = tool !== null && Math.max(...cut.values()) > end
  const next = more ? ` For the next ones, call \`${tool}\` with \`offset\`: ${end}.` : ''
  return { json, note: `Long texts are cut: ${lengths}. Those from ${offset} to ${end} are shown.${next}` }
}

/** Returns the index, or the one before it if a character of two code units would be divided. */
function boundary(text: string, index: number): number {
  const isInside = (text.codePointAt(index - 1) ?? 0) > 0xffff
  return isInside ? index - 1 : index
}
