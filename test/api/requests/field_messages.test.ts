import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { z } from 'zod'
import { type JsonSchema, type NamedSchemas, requestSchema } from '#api/openapi/json_schema.ts'
import type { Operation } from '#api/operations/operation.ts'
import { readQuery } from '#api/operations/queries.ts'
import { operations } from '#api/routes/index.ts'
import { ApiError } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'

type Members = Record<string, unknown>

/** Values that most fields refuse. */
const WRONG: unknown[] = [
  ...[null, true, 5, -1, 1.5, 1e300],
  ...['', ' ', 'no', 'two\nlines', '{{{NAME}}}', 'a'.repeat(5_000_001)],
  ...[
    [],
    {},
    [5],
    [{}],
    Array(2_000).fill('a@b.co'),
    { a: 5 },
    { 'a b': 'x' },
    { FIRST_NAME: 'x' },
    JSON.parse('{"__proto__":"x"}'),
  ],
]

/** Valid bodies of the operations that have required fields. */
const email = { from: 'a@b.co', to: 'c@d.co', subject: 'Hi', text: 'Hi' }
const RIGHT: Record<string, unknown> = {
  sendEmail: {
    ...email,
    attachments: [{ path: 'https://a.co/a.pdf' }],
    tags: [{ name: 'a', value: 'b' }],
    template: null,
  },
  sendBatch: [email],
  replyToEmail: { from: 'a@b.co', text: 'Hi' },
}

/** All messages, one per line, `…` for the path of the field and quoted values. `--write` rewrites the file. */
const LIST = join(import.meta.dirname, 'field_messages.txt')

t.test('the messages of fields are those of field_messages.txt', async t => {
  const messages = new Set<string>()
  for (const operation of operations) {
    for (const message of messagesOf(operation)) messages.add(message)
  }
  const listed = [...messages].sort()
  if (process.argv.includes('--write')) await writeFile(LIST, `${listed.join('\n')}\n`)
  t.strictSame(listed, (await readFile(LIST, 'utf8')).trimEnd().split('\n'))
})

function* messagesOf({ id, body, query }: Operation): Generator<string> {
  for (const name of Object.keys(query ? (requestSchema(query).properties as Members) : {})) {
    for (const value of WRONG.filter(isText)) {
      yield* refusal(() => readQuery(query as z.ZodType, { [name]: value }))
    }
  }
  if (!body) return
  for (const put of places(withoutReferences(requestSchema(body.schema)), RIGHT[id] ?? {})) {
    for (const value of WRONG) yield* refusal(() => parse(body.schema, put(value)))
  }
}

/** A query parameter is a string, or a list of strings if it is repeated. */
function isText(value: unknown): value is string | string[] {
  return [value].flat().every(item => typeof item === 'string')
}

/** Replaces references by the schemas they refer to. */
function withoutReferences({ $defs = {}, ...schema }: NamedSchemas): JsonSchema {
  const replace = (_: string, value: unknown): unknown => {
    const { $ref, ...more } = Object(value) as JsonSchema
    return typeof $ref === 'string' ? { ...$defs[$ref.replace('#/$defs/', '')], ...more } : value
  }
  return JSON.parse(JSON.stringify({ schema }, replace)).schema
}

/** Yields a function for the body as a whole and for each of its fields: it returns the body with a value put there. */
function* places(schema: JsonSchema, right: unknown): Generator<(value: unknown) => unknown> {
  yield value => value
  for (const [name, field] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)) {
    const members = (typeof right === 'object' ? right : {}) as Members
    for (const put of places(field, members?.[name])) yield value => ({ ...members, [name]: put(value) })
  }
  for (const branch of (schema.anyOf ?? []) as JsonSchema[]) yield* places(branch, right)
  if (schema.items) {
    const [first] = Array.isArray(right) ? right : [undefined]
    for (const put of places(schema.items as JsonSchema, first)) yield value => [put(value)]
  }
}

/** Yields the message of an error, without the field's path and the value that it quotes. */
function* refusal(check: () => unknown): Generator<string> {
  try {
    check()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    yield error.message.replace(/^`[^`]+`|(?<=^Missing )`[^`]+`/, '`…`').replaceAll(/"(?:[^"\\]|\\.)*"/g, '"…"')
  }
}
