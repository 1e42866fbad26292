import { setTimeout as sleep } from 'node:timers/promises'
import type { NewContactImport } from '../../source/index.ts'
import type { Call, Command } from '../command.ts'
import { outcomeError } from '../errors.ts'
import { OPERATIONS } from '../generated/operations.ts'
import type { Operation } from '../operation.ts'
import { commandOf, openFile, readBody } from '../operation_commands.ts'

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 2_000
const SHOWN_ERRORS = 10

const operation = OPERATIONS.find(({ route }) => route === 'POST /contacts/imports') as Operation
const fields = (operation.body ?? []).filter(({ name }) => name !== 'file' && name !== 'csv')

export const importCommands: Command[] = [
  {
    words: ['contacts', 'import'],
    summary: 'Import contacts from a CSV file, and wait until it is done',
    description: commandOf(operation).description ?? '',
    operands: [{ name: 'file', description: 'A CSV file of any size, or `-` for the standard input.' }],
    options: [
      ...fields,
      { name: 'wait', type: 'boolean', description: 'Wait until the import is done. Default: yes.' },
    ],
    examples: [
      'mailbrook contacts import contacts.csv --domain acme.com',
      `mailbrook contacts import people.csv --domain acme.com --column-map '{"email":"E-Mail"}'`,
    ],
    run: runImport,
  },
]

async function runImport(call: Call): Promise<void> {
  const { operands, values, output, signal } = call
  const client = call.client()
  const { wait: waits = true, ...members } = values
  const file = await openFile(operands[0] as string, signal)
  const body = { ...((await readBody(fields, members, signal)) as Partial<NewContactImport>), file }
  output.note(`Sending ${file.size.toLocaleString('en')} bytes`)
  // No timeout: the file may be large, and the connection slow.
  let found = await client.contacts.imports.create(body, { signal, timeout: 2 ** 31 - 1 })
  if (!waits) return output.record(found)
  for (let wait = FIRST_WAIT_MS; found.completed_at === null; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    await sleep(wait, undefined, { signal })
    found = await client.contacts.imports.get(found.id, { signal })
    output.progress('Imported', found.counts.total, found.records)
  }
  const { errors, ...shown } = found
  output.record(shown)
  for (const { line, message } of errors.slice(0, SHOWN_ERRORS)) output.note(`Line ${line}: ${message}`)
  if (errors.length > SHOWN_ERRORS) output.note(`More: mailbrook contacts imports errors ${found.id} --all`)
  if (found.status !== 'completed') throw outcomeError('import_failed', `The import is \`${found.status}\`.`)
}
