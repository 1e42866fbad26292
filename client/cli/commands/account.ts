import { type Call, type Command, DEFAULT_URL } from '../command.ts'
import { cliError } from '../errors.ts'
import { accessOf } from '../input/access.ts'
import { askSecret } from '../input/ask.ts'
import { readText } from '../input/read_text.ts'

const name = { name: 'name', type: 'string' as const, description: 'Name of the profile. Default: `default`.' }

export const accountCommands: Command[] = [
  {
    words: ['login'],
    summary: 'Store an API key and the address of its server',
    description: 'Asks for the key if none is given, and checks it. The profile becomes the current one.',
    operands: [],
    options: [name],
    examples: [
      'mailbrook login --base-url https://mail.acme.com',
      'mailbrook login --name staging --base-url https://mail.staging.acme.com --api-key @key.txt',
    ],
    run: login,
  },
  {
    words: ['logout'],
    summary: 'Forget a profile',
    operands: [],
    options: [{ ...name, description: 'Name of the profile. Default: the current one.' }],
    examples: ['mailbrook logout', 'mailbrook logout --name staging'],
    run: async ({ profiles, values, output }) => {
      const removed = profiles.remove(values.name as string | undefined)
      if (removed === null) throw cliError('There is no profile.')
      output.note(`The profile ${removed} is forgotten.`)
    },
  },
  {
    words: ['profiles'],
    summary: 'List the profiles, or change the current one',
    operands: [],
    options: [{ name: 'use', type: 'string', description: 'Make this profile the current one.' }],
    examples: ['mailbrook profiles', 'mailbrook profiles --use staging'],
    run: async ({ profiles, values, output }) => {
      if (values.use !== undefined) profiles.use(values.use as string)
      output.items(profiles.list())
    },
  },
  {
    words: ['whoami'],
    summary: 'Show which server and what kind of key commands use',
    operands: [],
    options: [],
    examples: ['mailbrook whoami'],
    run: async ({ client, output, signal }) => {
      const api = client()
      output.record({ base_url: api.baseUrl, access: await accessOf(api, signal) })
    },
  },
]

async function login({ values, output, profiles, signal, environment }: Call): Promise<void> {
  const { base_url: address, api_key, name = 'default' } = values as Record<string, string | undefined>
  const known = profiles.list().find(one => one.name === name)
  const base_url = address ?? environment.MAILBROOK_BASE_URL ?? known?.base_url ?? DEFAULT_URL
  const given = api_key ?? (output.isTerminal ? await askSecret('API key: ', signal) : readText('@-'))
  const profile = { api_key: given.trim(), base_url }
  const { Mailbrook } = await import('../../source/index.ts')
  const client = new Mailbrook({ apiKey: profile.api_key, baseUrl: base_url })
  const access = await accessOf(client, signal)
  profiles.save(name, profile)
  output.note(`Stored as the profile ${name} (${access} access to ${base_url}), in ${profiles.path}`)
}
