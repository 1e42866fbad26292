import type { Call, Command, Values } from '../command.ts'
import { cliError } from '../errors.ts'
import { jsonOf } from '../input/arguments.ts'
import { OUTPUT } from '../operation_commands.ts'
import { completionScript, SHELLS } from '../print/completion.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export const toolCommands: Command[] = [
  {
    words: ['api'],
    summary: 'Call any route of the API',
    operands: [
      { name: 'method', description: METHODS.join(', ') },
      { name: 'path', description: 'Path such as `/emails?limit=1`.' },
    ],
    options: [
      {
        name: 'field',
        type: 'list',
        short: 'f',
        description: 'A member of the body: `name=value`. A value that is valid JSON is sent as JSON.',
      },
      { name: 'body', type: 'string', description: 'The whole body as JSON.' },
      OUTPUT,
      {
        name: 'idempotency_key',
        type: 'string',
        description: 'Idempotency key: repeated with the same key, the command takes effect once.',
      },
    ],
    examples: ['mailbrook api GET /usage', 'mailbrook api POST /topics -f name=News -f default_subscription=opt_in'],
    run: callApi,
  },
  {
    words: ['completion'],
    summary: 'Print a script that completes commands in your shell',
    operands: [{ name: 'shell', description: SHELLS.join(', ') }],
    options: [],
    examples: [
      'source <(mailbrook completion bash)',
      'source <(mailbrook completion zsh)',
      'mailbrook completion fish > ~/.config/fish/completions/mailbrook.fish',
    ],
    run: async ({ operands, output }) => output.text(completionScript(operands[0] as string)),
  },
]

async function callApi({ operands, values, output, signal, client }: Call): Promise<void> {
  const [method = '', path = ''] = operands
  const { body, field, idempotency_key } = values as { body?: string; field?: string[]; idempotency_key?: string }
  if (!METHODS.includes(method.toUpperCase())) throw cliError(`The method must be one of ${METHODS.join(', ')}.`)
  if (!path.startsWith('/')) throw cliError('The path must begin with a slash: `/emails`.')
  const given = body === undefined ? undefined : jsonOf('--body', body)
  const sent = field === undefined ? given : { ...(given as object), ...membersOf(field) }
  const options = idempotency_key === undefined ? { signal } : { signal, idempotencyKey: idempotency_key }
  const input = sent === undefined ? {} : { body: sent }
  const answer = await client().request<object>(method.toUpperCase(), path, input, options)
  const isFile = answer instanceof Response
  if (!isFile && values.output === undefined) return output.record(answer)
  const { saveFile } = await import('../print/save_file.ts')
  await saveFile(isFile ? answer : Response.json(answer), values.output as string | undefined, output)
}

function membersOf(fields: string[]): Values {
  return Object.fromEntries(
    fields.map(text => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
      if (name === undefined || value === undefined)
        throw cliError(`\`--field\` must be name=value, not ${JSON.stringify(text)}.`)
      return [name, readValue(value)]
    }),
  )
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
