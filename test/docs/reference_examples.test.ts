import { execFileSync } from 'node:child_process'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { requestSchema } from '#api/openapi/json_schema.ts'
import { operations } from '#api/routes/index.ts'
import { optionName } from '#client/cli/command.ts'
import { findCommand } from '#client/cli/commands.ts'
import { readArguments } from '#client/cli/input/arguments.ts'
import { readMethods } from '#docs/generate/client/read_methods.ts'
import { commandText } from '#docs/generate/samples/command_text.ts'
import { curlText } from '#docs/generate/samples/curl_text.ts'
import { sampleOf } from '#docs/generate/samples/read_samples.ts'
import samples from '#docs/generate/samples/samples.json' with { type: 'json' }

const methods = readMethods()
const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)

/** The words of commands, as a shell splits them. */
function wordsOf(program: string, commands: string[]): string[][] {
  const script = `${program}() { printf '%s\\037' "$@"; printf '\\036'; }\n${commands.join('\n')}\n`
  const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8' })
  return printed
    .split('\x1e')
    .slice(0, -1)
    .map(words => words.split('\x1f').slice(0, -1))
}

t.test('bodies in the API reference match their operations', async t => {
  const known = new Map(operations.map(one => [one.id, one]))
  for (const [id, body] of Object.entries(samples)) {
    const schema = known.get(id)?.body?.schema
    if (!schema) throw new Error(`${id} takes no body`)
    const validate = ajv.compile(requestSchema(schema))
    t.ok(validate(body), `${id}: ${ajv.errorsText(validate.errors)}`)
    t.ok(schema.safeParse(body).success, id)
  }
})

t.test('a curl command of the API reference calls its operation with the body', async t => {
  const commands = wordsOf(
    'curl',
    methods.map(method => curlText(method, 'http://localhost:3000')),
  )
  for (const [n, method] of methods.entries()) {
    const words = commands[n] ?? []
    const { body, query } = sampleOf(method)
    const after = (option: string) => words[words.indexOf(option) + 1]
    const url = new URL(words.find(word => word.startsWith('http:')) ?? '')
    t.match(url.pathname, new RegExp(`^/api${method.path.replaceAll(/\{\w+\}/g, '[A-Z_]+')}$`))
    t.strictSame(Object.fromEntries(url.searchParams), query)
    t.strictSame(body, words.includes('-d') ? JSON.parse(after('-d') ?? '') : undefined, method.operation_id)
    const implied = words.includes('-d') ? 'POST' : 'GET'
    t.equal(words.includes('-X') ? after('-X') : implied, method.http_method)
  }
})

/** Operations whose commands take a file in place of the body. */
const FILES = ['sendBatch', 'importContacts', 'importAudienceContacts', 'importSuppressions']

t.test('a command of the API reference exists and sends the same body', async t => {
  const commands = wordsOf('mailbrook', methods.map(commandText))
  for (const [n, method] of methods.entries()) {
    const { command, rest } = findCommand(commands[n] ?? [])
    if (!command) throw new Error(`there is no ${commands[n]}`)
    const given = rest.map(word => (word.startsWith('@') ? `@${word}` : word))
    const { values, operands } = readArguments(command, given)
    t.equal(operands.length, command.operands.length, method.operation_id)
    if (FILES.includes(method.operation_id)) continue
    const { body, query } = sampleOf(method)
    const sent = { ...query, ...(body as object | undefined) }
    const options = Object.fromEntries(Object.entries(sent).map(([name, value]) => [optionName(name), value]))
    const [found, expected] = 'body' in values ? [JSON.parse(values.body as string), sent] : [{ ...values }, options]
    t.strictSame(found, expected, method.operation_id)
  }
})
