import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { z } from 'zod'
import { answerSchema, requestSchema } from '#api/openapi/json_schema.ts'
import { simplify } from '#api/openapi/simplify.ts'
import { operations } from '#api/routes/index.ts'
import { absent, timestamp } from '#lib/json/json_form.ts'

const Inner = z.object({ at: timestamp.describe('When.') }).meta({ id: 'Inner' })
const Outer = z.object({ inner: Inner.nullable(), more: absent(z.array(Inner)).describe('Others.') })

t.test('a response schema refuses undeclared members, at any depth', t => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(answerSchema(Outer))
  const inner = { at: '2026-11-21T09:19:04.123Z' }
  for (const right of [{ inner }, { inner: null }, { inner, more: [inner] }]) t.ok(validate(right))
  for (const wrong of [
    { inner, other: 1 },
    { inner: { ...inner, other: 1 } },
    { inner, more: [{ ...inner, other: 1 }] },
    { inner: { at: 'yesterday' } },
    {},
  ]) {
    t.notOk(validate(wrong), JSON.stringify(wrong))
  }
  t.end()
})

t.test('a description stays beside a reference to another schema', t => {
  const { properties } = answerSchema(Outer) as { properties: Record<string, object> }
  t.strictSame(properties.more, { description: 'Others.', type: 'array', items: { $ref: '#/$defs/Inner' } })
  t.end()
})

t.test('simplify() shortens a schema without changing its meaning', t => {
  const Request = z.object({
    name: z.string().max(5).nullish(),
    kind: z.enum(['a', 'b']).nullable().describe('Its kind.'),
    id: z.guid(),
    values: z.record(z.string(), z.int().min(0)),
    either: z.union([z.string(), z.array(z.string())]).nullable(),
    inner: Inner.nullable(),
    count: z
      .string()
      .regex(/^[0-9]+$/)
      .meta({ type: 'integer' }),
    list: z.preprocess(value => value, z.array(z.string())).transform(list => new Set(list)),
  })
  const { properties, required } = simplify(requestSchema(Request))
  t.strictSame(required, ['kind', 'id', 'values', 'either', 'inner', 'count', 'list'])
  t.strictSame(simplify(requestSchema(Request.partial())).required, undefined)
  t.strictSame(properties, {
    name: { type: ['string', 'null'], maxLength: 5 },
    kind: { description: 'Its kind.', type: ['string', 'null'], enum: ['a', 'b', null] },
    id: { type: 'string', format: 'uuid' },
    values: { type: 'object', additionalProperties: { type: 'integer', minimum: 0 } },
    either: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }, { type: 'null' }] },
    inner: { anyOf: [{ $ref: '#/$defs/Inner' }, { type: 'null' }] },
    count: { type: 'integer' },
    list: { type: 'array', items: { type: 'string' } },
  })
  t.end()
})

const patternsOf = (value: unknown): string[] =>
  Object.entries(value ?? {}).flatMap(([name, member]) =>
    name === 'pattern' && typeof member === 'string' ? [member] : typeof member === 'object' ? patternsOf(member) : [],
  )

t.test('published patterns work in engines without \\p{...}, lookahead or the flag `u`', t => {
  const schemas = operations.flatMap(({ query, body }) => [query, body?.schema].flatMap(one => one ?? []))
  const patterns = [...new Set(schemas.flatMap(schema => patternsOf(simplify(requestSchema(schema)))))]
  t.ok(patterns.length > 10)
  t.strictSame(
    patterns.filter(pattern => /\\p|\(\?[^:]|\\u202[89]/.test(pattern)),
    [],
  )
  for (const pattern of patterns) {
    for (const text of ['Welcome', 'welcome', 'p{Cc}', 'Zoë 😀', 'a\nb', '\u202eabc', '12', '']) {
      t.equal(new RegExp(pattern).test(text), new RegExp(pattern, 'u').test(text), `${pattern} ${text}`)
    }
  }
  t.end()
})
