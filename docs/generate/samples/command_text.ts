import { optionName } from '#client/cli/command.ts'
import { OPERATIONS } from '#client/cli/generated/operations.ts'
import type { Option } from '#client/cli/operation.ts'
import type { Method } from '../client/read_methods.ts'
import { placeholderOf, sampleOf } from './read_samples.ts'
import { shellWord } from './shell_text.ts'

/** Operations whose command is written by hand, since its arguments are not those of the operation. */
const OTHERS: Record<string, string> = {
  sendBatch: 'mailbrook emails batch emails.jsonl',
  importContacts: 'mailbrook contacts import contacts.csv --domain acme.com',
  importAudienceContacts: 'mailbrook audiences contacts import AUDIENCE_ID --file contacts.csv',
  importSuppressions: 'mailbrook suppressions import --csv @suppressions.csv',
}

const WIDTH = 90

/** Returns an example call with the command line. */
export function commandText(method: Method): string {
  const { operation_id, resource, name, ids } = method
  if (OTHERS[operation_id]) return OTHERS[operation_id]
  const path = `${resource}.${name}`
  const operation = OPERATIONS.find(({ method }) => method.join('.') === path)
  if (!operation) throw new Error(`the command line has no ${path}`)
  const { body, query } = sampleOf(method)
  const given = Object.entries({ ...query, ...(body as object | undefined) })
  const known = [...operation.query, ...(operation.body ?? [])]
  const options = given.map(([name, value]) => ({ option: known.find(one => one.name === name), value }))
  // A body with several possible schemas has no options.
  const texts = options.every(({ option }) => option)
    ? options.flatMap(({ option, value }) => optionText(option as Option, value))
    : [`--body ${shellWord(JSON.stringify(body))}`]
  const words = ['mailbrook', ...operation.words, ...ids.map(({ name }) => placeholderOf(name))].join(' ')
  const line = [words, ...texts].join(' ')
  return line.length <= WIDTH ? line : [words, ...texts].join(' \\\n  ')
}

function optionText(option: Option, value: unknown): string[] {
  const flag = optionName(option.name).replaceAll('_', '-')
  if (option.type === 'boolean') return [value ? `--${flag}` : `--no-${flag}`]
  return textsOf(option, value).map(text => `--${flag} ${shellWord(text)}`)
}

function textsOf({ type }: Option, value: unknown): string[] {
  if (type === 'list' && Array.isArray(value)) return value.map(String)
  return [type === 'json' || typeof value !== 'string' ? JSON.stringify(value) : value]
}
