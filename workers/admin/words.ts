import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'
import { writeAudit } from '#flows/members/write_audit.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError, StartupError } from '#lib/errors.ts'
import { unusable } from '#sql/outage.ts'
import { isRefusedData } from '#sql/retry.ts'
import { commands, USAGE } from './commands.ts'
import { options, UsageError } from './values.ts'

/** Returns the command of the words after `npm run admin --`. @throws {UsageError} */
export function readCommand(words: string[]): (foundation: Foundation) => Promise<void> {
  const { positionals, values } = readWords(words)
  const name = positionals.slice(0, 2).join(' ')
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new UsageError(name ? `No such command: ${name}` : 'Which command?')
  const rest = positionals.slice(2)
  // Rejects words that the command would ignore, such as the second of two keys to revoke.
  const foreign = Object.keys(values).filter(option => !command.options.some(known => known === option))
  const [unknown] = [...foreign.map(option => `--${option}`), ...rest.slice(command.words)]
  if (unknown !== undefined) throw new UsageError(`${name} takes no ${unknown}`)
  return async foundation => {
    for (const { account_id, target } of await command.run(foundation, values, rest)) {
      const operator = { actor: 'operator', actor_id: null, actor_name: userName(), client_address: null } as const
      await writeAudit(foundation.pool, { ...operator, account_id, action: name, target })
    }
  }
}

/** Returns the name of the user of the operating system. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'operator' // in a container the user may have no name
  }
}

/** Returns what is printed for an error in these words: only the message if it was expected, otherwise the whole error. */
export function describeError(thrown: unknown, words: string[]): unknown {
  const error = unusable(thrown)
  if (error instanceof UsageError) return `${error.message}\n\n${usageOf(words)}`
  if (isRefusedData(error)) return `Postgres refuses a value: ${(error as Error).message}`
  return error instanceof StartupError || error instanceof ApiError ? error.message : error
}

const PREFIX = 'npm run admin -- '

/** Returns the usage of one command, since the message would scroll away above that of all; that of all if there is no such command. */
function usageOf(words: string[]): string {
  const all = USAGE.trim()
  const name = words.slice(0, 2).join(' ')
  if (!Object.hasOwn(commands, name)) return all
  // A line that is indented further continues the one before.
  const indent = PREFIX.length
  const [, own] = new RegExp(`^.{${indent}}(${name}\\b.*(?:\\n {${indent + 1},}.*)*)`, 'm').exec(all) ?? []
  return own ? `${PREFIX}${own}\n${all.split('\n').at(-1)}` : all
}

function readWords(words: string[]) {
  try {
    return parseArgs({ args: words, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
