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

/** Values of options by name, such as `reply_to`. Options that are not given are missing. */
export type Values = Record<string, unknown>

/** A command that is being run. */
export type Call = {
  operands: string[]
  values: Values
  output: Output
  profiles: Profiles
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** Returns the key and the server. A function, since some commands need neither. */
  connection(): { apiKey: string; baseUrl: string }
  client(): Mailbrook
  /** Returns the address of the server, for requests that need no key. */
  address(): string
  environment: Record<string, string | undefined>
}

/** Address of a server on this machine, used if no other is given. */
export const DEFAULT_URL = 'http://localhost:3000'

/** Options of every command. */
export const COMMON: Option[] = [
  { name: 'json', type: 'flag', description: 'Print JSON, even on a terminal.' },
  {
    name: 'fields',
    type: 'string',
    description: 'Print only these fields, separated by commas; of a list, these fields of its items.',
  },
  { name: 'profile', type: 'string', short: 'p', description: 'Use this profile: see `mailbrook login`.' },
  { name: 'api_key', type: 'string', description: 'API key. Default: MAILBROOK_API_KEY, or the key of the profile.' },
  {
    name: 'base_url',
    type: 'string',
    description: 'Address of the server. Default: MAILBROOK_BASE_URL, or the address of the profile.',
  },
  { name: 'timeout', type: 'number', description: 'Seconds that each request may take. Default: 30.' },
  {
    name: 'retries',
    type: 'number',
    description: 'How often a request is retried after a temporary failure. Default: 2.',
  },
  {
    name: 'yes',
    type: 'flag',
    short: 'y',
    description: 'Do not ask for confirmation before deleting, or before sending to many.',
  },
  { name: 'help', type: 'flag', short: 'h', description: 'Explain the command.' },
]

const COMMON_NAMES = new Set(COMMON.map(({ name }) => name))

/** Returns the option of a value of a request. One that is named as an option of every command, such as `api_key`, gets a prefix. */
export function optionName(name: string): string {
  return COMMON_NAMES.has(name) ? `body_${name}` : name
}
