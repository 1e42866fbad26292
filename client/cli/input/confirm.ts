import type { Call } from '../command.ts'
import { cliError } from '../errors.ts'

/** Asks for confirmation. @throws {MailbrookError} `cli_error` if the answer is no, or if there is no terminal */
export async function confirm({ values, output, signal }: Call, what: string): Promise<void> {
  if (values.yes) return
  if (!output.isTerminal) throw cliError(`\`mailbrook ${what}\` needs \`--yes\`: it cannot be undone.`)
  const { ask } = await import('./ask.ts')
  const answer = await ask(`mailbrook ${what}: this cannot be undone. Continue? [y/N] `, { signal })
  if (!/^y(es)?$/i.test(answer.trim())) throw cliError('Nothing was done.')
}
