import type { Call } from '../command.ts'
import { cliError } from '../errors.ts'

/** Asks for confirmation. @throws {MailbrookError} `cli_error` if the answer is no, or if there is no terminal */
export async function confirm({ values, output, signal }: Call, what: string): Promise<void> {
  if (values.yes) return
  if (!output.isTerminal) throw cliError(`\`mailbrook ${what}\` needs \`--yes\`: it cannot be undone.`)
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await lines.question(`mailbrook ${what}: this cannot be undone. Continue? [y/N] `, { signal })
  lines.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw cliError('Nothing was done.')
}
