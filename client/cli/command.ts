import type { Mailbrook } from '../source/index.ts'
import type { Profiles } from './input/profiles.ts'
import type { Option } from './operation.ts'
import type { Output } from './print/output.ts'

/** One command of the command line. */
export type Command = {
  /** `contacts imports create` */
  words: string[]
  summary: string
  description?: string
  /** Values after the words, in their order. */
  operands: { name: string; description: string; isOptional?: boolean }[]
  options: Option[]
  examples: string[]
  run(call: Call): Promise<void>
}

/** Values of options by their names: `reply_to`. Those that are not given are not there. */
export type Values = Record<string, unknown>

/** A command that is being run. */
export type Call = {
  operands: string[]
  values: Values
  output: Output
  profiles: Profiles
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** The key and the server. Asked for by those that need them: some commands work without. */
  connection(): { apiKey: string; baseUrl: string }
  client(): Mailbrook
  /** The server, for what needs no key. */
  address(): string
  environment: Record<string, string | undefined>
}

/** Options of every command. */
export const COMMON: Option[] = [
  { name: 'json', type: 'flag', description: 'Print JSON, also on a terminal.' },
  { name: 'fields', type: 'string', description: 'Print these fields only, separated by commas.' },
  { name: 'profile', type: 'string', short: 'p', description: 'Use this profile: see `mailbrook login`.' },
  { name: 'api_key', type: 'string', description: 'Default: MAILBROOK_API_KEY, or that of the profile.' },
  {
    name: 'base_url',
    type: 'string',
    description: 'Address of the server. Default: MAILBROOK_BASE_URL, or that of the profile.',
  },
  { name: 'timeout', type: 'number', description: 'Seconds that each request may take. Default: 30.' },
  {
    name: 'retries',
    type: 'number',
    description: 'How often a request that failed for the moment is tried again. Default: 2.',
  },
  { name: 'yes', type: 'flag', short: 'y', description: 'Do not ask before deleting or sending to many.' },
  { name: 'help', type: 'flag', short: 'h', description: 'Explain the command.' },
]
