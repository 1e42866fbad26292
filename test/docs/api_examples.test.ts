import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { z } from 'zod'
import { errorsOf } from '#api/openapi/errors.ts'
import { type Examples, examplesOf } from '#api/openapi/examples.ts'
import { answerSchema, type JsonSchema, requestSchema } from '#api/openapi/json_schema.ts'
import type { Operation } from '#api/operations/operation.ts'
import { operations } from '#api/routes/index.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)

type Told = { statusCode: number; name: string }

/** Checks examples by the schema of their operation, like responses in tests. */
function faultsOf(schema: JsonSchema, examples: Examples = {}): string[] {
  const validate = ajv.compile(schema)
  return Object.entries(examples).flatMap(([name, { value }]) =>
    validate(value) ? [] : [`${name}: ${ajv.errorsText(validate.errors)}`],
  )
}

function answerFaults(one: Operation, status: string, examples: Examples): string[] {
  const answer = one.answers[Number(status)]
  if (answer instanceof z.ZodType) return faultsOf(answerSchema(answer), examples)
  const isKnown = ({ statusCode, name }: Told) =>
    errorsOf(one).some(error => error.status === statusCode && error.name === name)
  return Object.entries(examples).flatMap(([name, { value }]) => (isKnown(value as Told) ? [] : [`${name} is unknown`]))
}

t.test('examples of requests and responses match their operations', async t => {
  let count = 0
  for (const one of operations) {
    const { request = {}, answers = {} } = examplesOf(one.id)
    const all = [request, ...Object.values(answers)]
    if (one.body) t.strictSame(faultsOf(requestSchema(one.body.schema), request), [], one.id)
    else t.strictSame(request, {}, one.id)
    for (const [status, examples] of Object.entries(answers)) {
      t.strictSame(answerFaults(one, status, examples), [], `${one.id} ${status}`)
    }
    count += all.flatMap(examples => Object.keys(examples)).length
  }
  t.ok(count > 40, `${count} examples`)
})

t.test('POST /emails has an example request and a complete response', t => {
  const { request = {}, answers = {} } = examplesOf('sendEmail')
  t.strictSame(request['send-an-email']?.value, {
    from: 'Mailbrook <hello@sandbox.internal>',
    to: ['anna@sandbox.internal'],
    subject: 'Hello',
    html: '<p>It works.</p>',
  })
  t.match(answers['200']?.['send-an-email'], { summary: 'Send an email', value: { id: /^[0-9a-f-]{36}$/ } })
  t.match(answers['422']?.missing_required_field?.value, { statusCode: 422, message: 'Missing `to` field.' })
  t.end()
})
