import { optionName } from '../command.ts'
import { flagOf } from '../input/arguments.ts'
import type { Operation, Option } from '../operation.ts'

/** Returns an example of a command, with everything that the operation requires. */
export function exampleOf({ words, ids, query, body = [] }: Operation): string {
  const operands = ids.map(({ name }) => name.toUpperCase().replaceAll('-', '_'))
  const options = [...query, ...body].filter(({ required }) => required).map(optionText)
  return ['mailbrook', ...words, ...operands, ...options].join(' ')
}

function optionText({ name, type, values }: Option): string {
  const value = { number: '1', json: "'[]'", boolean: '', flag: '', list: 'VALUE', file: 'FILE', string: 'VALUE' }[type]
  return `--${flagOf(optionName(name))} ${values?.[0] ?? value}`.trim()
}
