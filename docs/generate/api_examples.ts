import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Examples, OperationExamples } from '#api/openapi/examples.ts'
import type { Operation } from '#api/operations/operation.ts'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { tryParseJson } from '#lib/json/try_parse_json.ts'
import { type Example, readExamples } from './read_examples.ts'

/** An example of a request body, or of the response body for a status. */
type Found = { operation: string; place: 'request' | number; summary: string; value: unknown }

const PAGE = join(import.meta.dirname, '..', 'examples.md')

/** Matches `curl` with its options, the path, headers and the body, and a pipe that consumes the response. */
const CURL = /\bcurl ([^|"]*)"\$API([^"?]*)[^"]*"((?:\s+-[Hd] (?:"[^"]*"|'[^']*'))*)(\s*\|)?/g

/** Matches the status and the body in the output of `curl -i`. */
const HTTP = /^HTTP\/1.1 (\d+)(?:.|\n)*\n(\{.*\})\s*$/

const routes = routesOf(operations).map(operation => ({
  operation,
  pattern: new RegExp(`^${operation.path.replaceAll(/:\w+/g, '[^/]+')}$`),
}))

/** Generates api/openapi/examples.json: the requests and responses of docs/examples.md, by operation. */
export function apiExamples(): string {
  const found = readExamples(readFileSync(PAGE, 'utf8')).flatMap(findBodies)
  const byOperation = Map.groupBy(found, ({ operation }) => operation)
  const all = Object.fromEntries(Array.from(byOperation, ([operation, found]) => [operation, gather(found)]))
  return `${JSON.stringify(all, null, 2)}\n`
}

function findBodies({ title, code, answer }: Example): Found[] {
  return [...code.matchAll(CURL)].flatMap(([, options = '', path = '', rest = '', pipe]) => {
    const [, body] = /\s-d '([^']*)'/.exec(rest) ?? []
    const [, method = body === undefined ? 'GET' : 'POST'] = /-X (\w+)/.exec(options) ?? []
    const called = routes.find(({ operation, pattern }) => operation.method === method && pattern.test(path))
    if (!called) throw new Error(`docs/examples.md: there is no operation ${method} ${path}`)
    const { id } = called.operation
    const shown = pipe ? null : readAnswer(called.operation, answer)
    if (shown?.error) return [{ operation: id, place: shown.status, summary: shown.error, value: shown.value }]
    return [
      ...(body === undefined
        ? []
        : [{ operation: id, place: 'request' as const, summary: title, value: JSON.parse(body) }]),
      ...(shown ? [{ operation: id, place: shown.status, summary: title, value: shown.value }] : []),
    ]
  })
}

/** Returns null if the output is not JSON, or if the page leaves out parts of it. */
function readAnswer({ answers }: Operation, text: string): { status: number; error?: string; value: unknown } | null {
  const [, status, json = text] = HTTP.exec(text) ?? []
  const value = tryParseJson(json) as { statusCode?: number; name?: string } | undefined
  if (value?.statusCode) return { status: value.statusCode, error: String(value.name), value }
  // The last of several successful responses is the one for a new record.
  return value ? { status: Number(status ?? Object.keys(answers).at(-1)), value } : null
}

function gather(found: Found[]): OperationExamples {
  const { request, ...answers } = Object.fromEntries(
    Array.from(
      Map.groupBy(found, ({ place }) => place),
      ([place, found]) => [place, nameThem(found)],
    ),
  )
  return { ...(request ? { request } : {}), ...(Object.keys(answers).length > 0 ? { answers } : {}) }
}

/** Returns the examples by summary. A repeated summary gets a number; an equal body is left out. */
function nameThem(found: Found[]): Examples {
  const examples: Examples = {}
  for (const { summary, value } of found) {
    if (Object.values(examples).some(known => isDeepStrictEqual(known.value, value))) continue
    const name = summary.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '-')
    const count = Object.keys(examples).filter(known => known.replace(/-\d+$/, '') === name).length
    examples[count === 0 ? name : `${name}-${count + 1}`] = { summary, value }
  }
  return examples
}
