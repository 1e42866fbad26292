import type { Command } from './command.ts'
import { accountCommands } from './commands/account.ts'
import { batchCommands } from './commands/batch.ts'
import { doctorCommands } from './commands/doctor.ts'
import { importCommands } from './commands/import.ts'
import { listenCommands } from './commands/listen.ts'
import { mcpCommands } from './commands/mcp.ts'
import { pageCommands } from './commands/pages.ts'
import { sendCommands } from './commands/send.ts'
import { templateCommands } from './commands/templates.ts'
import { toolCommands } from './commands/tools.ts'
import { watchCommands } from './commands/watch.ts'
import { OPERATIONS } from './generated/operations.ts'
import { commandOf } from './operation_commands.ts'

const OWN: Command[] = [
  ...accountCommands,
  ...sendCommands,
  ...batchCommands,
  ...importCommands,
  ...watchCommands,
  ...listenCommands,
  ...mcpCommands,
  ...templateCommands,
  ...doctorCommands,
  ...pageCommands,
  ...toolCommands,
]

/** All commands: our own, and one for each operation of the API whose words are not those of one of our own. */
export const COMMANDS: Command[] = [
  ...OWN,
  ...OPERATIONS.map(commandOf).filter(({ words }) => !OWN.some(own => own.words.join(' ') === words.join(' '))),
]

/** Returns the longest command that the arguments begin with, and as `rest` the arguments after it. */
export function findCommand(args: string[]): { command: Command | null; rest: string[] } {
  const fitting = COMMANDS.filter(({ words }) => words.every((word, n) => args[n] === word))
  const command = fitting.toSorted((one, other) => other.words.length - one.words.length)[0] ?? null
  return { command, rest: args.slice(command?.words.length ?? 0) }
}
