import { basename } from 'node:path'
import type { NewAttachment, NewEmail } from '../../source/index.ts'
import { fs, fsPromises } from '../builtins.ts'
import type { Call, Command } from '../command.ts'
import { cliError, outcomeError } from '../errors.ts'
import { OPERATIONS } from '../generated/operations.ts'
import type { Operation, Option } from '../operation.ts'
import { commandOf, readBody } from '../operation_commands.ts'

const operation = OPERATIONS.find(({ route }) => route === 'POST /emails') as Operation
const plain = commandOf(operation)

/** Short forms of members of the email, and options for waiting. */
const SHORT: Option[] = [
  { name: 'attach', type: 'list', description: 'Attach this file; `FILE:cid` lets the HTML show it as `cid:cid`.' },
  { name: 'var', type: 'list', description: 'Value of a variable: `key=value`.' },
  { name: 'at', type: 'string', description: 'Send later, such as "tomorrow at 9am": the same as `--scheduled-at`.' },
  {
    name: 'wait',
    type: 'flag',
    description: 'Wait for the result. The exit code is 1 unless the email was delivered.',
  },
  { name: 'wait_seconds', type: 'number', description: 'Seconds that `--wait` waits. Default: 60.' },
]

const send: Command = {
  ...plain,
  words: ['send'],
  options: [...SHORT, ...plain.options],
  examples: [
    'mailbrook send --from hello@acme.com --to anna@y.com --subject Hi --text "Hello Anna!"',
    'mailbrook send --from hello@acme.com --to anna@y.com --subject Report --html @report.html --attach report.pdf --wait',
    'mailbrook send --to anna@y.com --template-id welcome --var first_name=Anna --at "tomorrow at 9am"',
  ],
  run: runSend,
}

/** `send`, and `emails send` as an alias. */
export const sendCommands: Command[] = [send, { ...send, words: ['emails', 'send'] }]

async function runSend(call: Call): Promise<void> {
  const { values, output, signal } = call
  const { attach = [], var: variables, at, wait, wait_seconds = 60, idempotency_key, ...members } = values
  const client = call.client()
  const given = (await readBody(operation.body ?? [], members, signal)) as NewEmail
  const email = {
    ...given,
    ...(at === undefined ? {} : { scheduled_at: at as string }),
    ...(variables === undefined ? {} : { variables: { ...given.variables, ...variablesOf(variables as string[]) } }),
  }
  const files = await Promise.all((attach as string[]).map(readAttachment))
  if (files.length > 0) email.attachments = [...(email.attachments ?? []), ...files]
  const key = idempotency_key === undefined ? {} : { idempotencyKey: idempotency_key as string }
  const sent = await client.emails.send(email, { signal, ...key })
  if (!wait) return output.record(sent)
  output.note(`Accepted as ${sent.id}`)
  const { id, status, last_event, events } = await client.emails.waitFor(sent.id, {
    within: Number(wait_seconds) * 1000,
    signal,
  })
  output.record({ id, status, last_event, events })
  if (status !== 'delivered') throw outcomeError('not_delivered', `The email is \`${status}\`.`)
}

async function readAttachment(given: string): Promise<NewAttachment> {
  // The name of a file may have a colon: `report 10:30.pdf`.
  const [, path = given, content_id] = fs().existsSync(given) ? [] : (/^(.+):([\w.-]+)$/.exec(given) ?? [])
  const content = await fsPromises()
    .readFile(path)
    .catch(error => {
      throw cliError(`${path} cannot be read: ${error.message}`, error)
    })
  return { filename: basename(path), content, ...(content_id ? { content_id } : {}) }
}

function variablesOf(given: string[]): Record<string, string | number> {
  return Object.fromEntries(
    given.map(text => {
      const [, key, value] = /^(\w+)=(.*)$/s.exec(text) ?? []
      if (key === undefined || value === undefined)
        throw cliError(`\`--var\` must be KEY=VALUE, not ${JSON.stringify(text)}.`)
      return [key, isNumber(value) ? Number(value) : value]
    }),
  )
}

/**
 * Variables of the type `number` take numbers only, and others take them too. Text such as `007` or `1e3` would be written in another
 * way as a number, so it remains text.
 */
function isNumber(text: string): boolean {
  return String(Number(text)) === text && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER
}
