import type { Page, Pages } from '../source/index.ts'
import { fs, fsPromises } from './builtins.ts'
import { type Call, type Command, optionName, type Values } from './command.ts'
import { cliError } from './errors.ts'
import { jsonOf } from './input/arguments.ts'
import { confirm } from './input/confirm.ts'
import type { Operation, Option } from './operation.ts'
import { exampleOf } from './print/examples.ts'

const BODY: Option = {
  name: 'body',
  type: 'string',
  description: 'The whole body as JSON. Other options replace its members.',
}
const KEY: Option = {
  name: 'idempotency_key',
  type: 'string',
  description: 'Idempotency key: repeated with the same key, the command takes effect once.',
}
const ALL: Option = { name: 'all', type: 'flag', description: 'Print all items instead of one page.' }
export const OUTPUT: Option = {
  name: 'output',
  type: 'file',
  short: 'o',
  description: 'Write to this file. Default: the standard output.',
}

/** Operations that reach many people or cannot be undone: their commands ask for confirmation. */
const NEEDS_CONFIRMATION = /^(?:DELETE |POST \/campaigns\/\{id\}\/send$|POST \/suppressions\/batch\/remove$)/

/** Makes the command of an operation. Its options are the parameters and the members of the request. */
export function commandOf(operation: Operation): Command {
  const { words, summary, description, ids, query, body, kind, is_keyed } = operation
  const own = (option: Option): Option => ({ ...option, name: optionName(option.name) })
  return {
    words,
    summary,
    ...(description ? { description } : {}),
    operands: ids,
    options: [
      ...query.map(own),
      // Nothing is required here, since `--body` may contain it.
      ...(body ?? []).map(({ required: _, ...option }) => own(option)),
      ...(body ? [BODY] : []),
      ...(is_keyed ? [KEY] : []),
      ...(kind === 'page' ? [ALL] : []),
      ...(kind === 'file' ? [OUTPUT] : []),
    ],
    examples: [exampleOf(operation)],
    run: call => runOperation(operation, call),
  }
}

type Method = (...args: unknown[]) => Promise<unknown>

async function runOperation(operation: Operation, call: Call): Promise<void> {
  const { route, kind, query, body, words } = operation
  const { operands, values, output, signal } = call
  if (NEEDS_CONFIRMATION.test(route)) await confirm(call, `${words.join(' ')} ${operands.join(' ')}`.trim())
  const { idempotency_key: idempotencyKey } = values
  const args = [
    ...operands,
    ...(body ? [await readBody(body, values, signal)] : []),
    ...(query.length > 0 ? [pick(query, values)] : []),
    { signal, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) },
  ]
  const result = methodOf(call, operation)(...args)
  if (kind === 'file') {
    const { saveFile } = await import('./print/save_file.ts')
    return saveFile(await (result as Promise<Response>), values.output as string | undefined, output)
  }
  if (kind === 'record') return output.record((await result) as object)
  const pages = result as unknown as Pages<{ id: string }>
  if (!values.all) return printPage(await pages, call)
  for await (const item of pages) output.items([item])
}

/** Prints a page. For programs it is one record, since they need `has_more`. */
function printPage(page: Page<{ id: string }>, { output }: Call): void {
  if (output.isJson) {
    output.page(page)
    return
  }
  output.items(page.data)
  if (page.data.length === 0) output.note('There are none.')
  if (page.has_more) output.note(`There are more: --after ${page.data.at(-1)?.id}, or --all.`)
}

function methodOf({ client }: Call, { method }: Operation): Method {
  let object: object = client()
  for (const name of method.slice(0, -1)) object = Reflect.get(object, name)
  return Reflect.get(object, method.at(-1) as string).bind(object)
}

/** Returns the body of a request: `--body`, with members replaced by those of other options. */
export async function readBody(options: Option[], values: Values, signal: AbortSignal): Promise<unknown> {
  const given = values.body === undefined ? {} : jsonOf('--body', values.body as string)
  const members = pick(options, values)
  for (const { name, type } of options) {
    if (type === 'file' && name in members) members[name] = await openFile(members[name] as string, signal)
  }
  if (Object.keys(members).length === 0) return given
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw cliError('`--body` must be an object to have members added.')
  return { ...given, ...members }
}

/**
 * Opens a file of any size, which is read while it is sent. The standard input and pipes, such as `<(zcat contacts.csv.gz)`, have
 * no size and are read first, as bytes: the server detects their encoding.
 */
export async function openFile(path: string, signal: AbortSignal): Promise<Blob> {
  const { createReadStream, openAsBlob } = fs()
  try {
    if (path !== '-' && (await fsPromises().stat(path)).isFile()) return await openAsBlob(path)
    const [{ addAbortSignal }, { blob }] = await Promise.all([import('node:stream'), import('node:stream/consumers')])
    return (await blob(addAbortSignal(signal, path === '-' ? process.stdin : createReadStream(path)))) as Blob
  } catch (error) {
    throw cliError(`${path} cannot be read: ${(error as Error).message}`, error)
  }
}

function pick(options: Option[], values: Values): Values {
  const given = options.filter(({ name }) => optionName(name) in values)
  return Object.fromEntries(given.map(({ name }) => [name, values[optionName(name)]]))
}
