import { util } from '../builtins.ts'
import { COMMON, type Command, type Values } from '../command.ts'
import { cliError } from '../errors.ts'
import type { Option } from '../operation.ts'
import { nearest } from './nearest.ts'
import { readText } from './read_text.ts'

/** Returns the name of an option on the command line: `reply-to` for `reply_to`. */
export function flagOf(name: string): string {
  return name.replaceAll('_', '-')
}

/**
 * Reads the arguments after the words of a command. A value that begins with `@` is read from that file, and `@-` from the
 * standard input. `@@` stands for text that begins with one `@`.
 *
 * @throws {MailbrookError} `cli_error`
 */
export function readArguments(command: Command, args: string[]): { operands: string[]; values: Values } {
  const options = [...command.options, ...COMMON]
  const { values, positionals } = parse(options, args)
  const read: Values = {}
  for (const option of options) {
    const given = values[flagOf(option.name)]
    if (given !== undefined) read[option.name] = readValue(option, given)
  }
  if (!read.help) requireOperands(command, positionals)
  return { operands: positionals, values: read }
}

type Given = string | boolean | (string | boolean)[]

function parse(
  options: Option[],
  args: string[],
): { values: Record<string, Given | undefined>; positionals: string[] } {
  const known = Object.fromEntries(
    options.map(({ name, type, short }) => [
      flagOf(name),
      {
        type: type === 'boolean' || type === 'flag' ? ('boolean' as const) : ('string' as const),
        multiple: type === 'list',
        ...(short ? { short } : {}),
      },
    ]),
  )
  try {
    return util().parseArgs({ args, options: known, allowPositionals: true, allowNegative: true })
  } catch (error) {
    throw cliError(messageOf(error as Error & { code?: string }, Object.keys(known)), error)
  }
}

function messageOf({ code, message }: Error & { code?: string }, flags: string[]): string {
  if (message.includes('argument is ambiguous'))
    return `${message.split('\n')[0]} A value that begins with a dash needs an equals sign: \`--name=-value\`.`
  const [, unknown] = /^Unknown option '-*([^']+)'/.exec(message) ?? []
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || unknown === undefined) return message.split('\n')[0] ?? message
  const near = nearest(unknown, flags)
  return `There is no option \`--${unknown}\`.${near ? ` Did you mean \`--${near}\`?` : ''}`
}

function requireOperands({ words, operands }: Command, given: string[]): void {
  const usage = `mailbrook ${words.join(' ')}`
  const missing = operands.slice(given.length).find(({ isOptional }) => !isOptional)
  if (missing) throw cliError(`\`${usage}\` needs ${missing.name.toUpperCase()}: ${missing.description}`)
  const extra = given[operands.length]
  if (extra !== undefined) throw cliError(`\`${usage}\` does not take ${JSON.stringify(extra)}.`)
}

function readValue(option: Option, given: Given): unknown {
  if (Array.isArray(given)) return given.map(one => textOf(option, String(one)))
  if (typeof given === 'boolean') return given
  const text = textOf(option, given)
  switch (option.type) {
    case 'number':
      return numberOf(option, text)
    case 'json':
      return jsonOf(`--${flagOf(option.name)}`, text)
    default:
      return text
  }
}

function textOf({ type, name, values }: Option, given: string): string {
  const text = type === 'file' ? given : readText(given)
  if (values && type === 'string' && !values.includes(text)) {
    throw cliError(`\`--${flagOf(name)}\` must be one of ${values.map(value => `\`${value}\``).join(', ')}.`)
  }
  return text
}

function numberOf({ name }: Option, text: string): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) throw cliError(`\`--${flagOf(name)}\` must be a number.`)
  return number
}

/** Parses the JSON of an option. @throws {MailbrookError} `cli_error` */
export function jsonOf(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw cliError(`\`${what}\` must be JSON: ${(error as Error).message}`, error)
  }
}
