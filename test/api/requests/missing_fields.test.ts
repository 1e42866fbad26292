import t from 'tap'
import type { z } from 'zod'
import { requestSchema } from '#api/openapi/json_schema.ts'
import { operations } from '#api/routes/index.ts'
import { parse } from '#lib/json/parse.ts'

for (const { id, body, errors } of operations) {
  if (!body) continue
  const required = requiredOf(body.schema)
  if (required.length === 0) continue
  t.test(`each missing required field of ${id} is refused as missing_required_field`, async t => {
    t.ok(errors.some(({ name }) => name === 'missing_required_field'))
    for (const missing of required) {
      const others = required.filter(name => name !== missing).map(name => [name, 5])
      const refused = () => parse(body.schema, Object.fromEntries(others))
      t.throws(refused, { name: 'missing_required_field', message: /^Missing `/ })
    }
  })
}

/** The names of the required members of a body. */
function requiredOf(schema: z.ZodType): string[] {
  const { $ref, $defs = {}, ...json } = requestSchema(schema)
  const { required = [] } = typeof $ref === 'string' ? ($defs[$ref.replace('#/$defs/', '')] ?? {}) : json
  return required as string[]
}
