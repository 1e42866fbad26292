import type { Readable } from 'node:stream'
import { MailbrookError } from '../../source/error.ts'
import type { NewEmail } from '../../source/index.ts'
import { crypto, fs } from '../builtins.ts'
import type { Call, Command } from '../command.ts'
import { cliError, outcomeError } from '../errors.ts'
import { linesOf } from '../input/lines.ts'

const SLICE = 100

export const batchCommands: Command[] = [
  {
    words: ['emails', 'batch'],
    summary: 'Send many emails, one per line of a file',
    description:
      'Each line of the file is an email as JSON, with the fields of POST /emails. Requests send 100 lines each. If a run is interrupted, run the same command again with the same file: emails that it sent within the last 24 hours are not sent again. Do not change the file meanwhile: a request in which a line has changed is sent whole. Put corrected lines into another file. Prints a line of JSON for each email with its line, and its id or the reason why it was refused.',
    operands: [{ name: 'file', description: 'A file with a JSON object per line, or `-` for the standard input.' }],
    options: [
      { name: 'from_line', type: 'number', description: 'Begin at this line. Default: 1.' },
      {
        name: 'key',
        type: 'string',
        description:
          'Name of the run, which its idempotency keys begin with. Default: a hash of the lines of each request.',
      },
    ],
    examples: [
      'mailbrook emails batch emails.jsonl',
      'mailbrook emails batch emails.jsonl --from-line 4001 > sent.jsonl',
    ],
    run: runBatch,
  },
]

type Line = { line: number; text: string }
type Parsed = Line & { email: NewEmail }
/** None: those of the client, which `--retries` sets. */
type Retries = { retries?: number }
type Result = { line: number; id: string } | { line: number; error: string }

/** A long run waits as often as it has to. Only its first request fails soon, for example if the address is wrong. */
const LATER_RETRIES = 100

async function runBatch(call: Call): Promise<void> {
  const { operands, values, output } = call
  const counts = { accepted: 0, refused: 0 }
  for await (const slice of slicesOf(call, operands[0] as string, Number(values.from_line ?? 1))) {
    const isFirst = counts.accepted + counts.refused === 0
    const retries = isFirst || values.retries !== undefined ? {} : { retries: LATER_RETRIES }
    const results = await sendSlice(call, slice, retries).catch((error: unknown) => {
      output.note(`Lines before ${slice[0]?.line} are done. Continue with --from-line ${slice[0]?.line}.`)
      throw error
    })
    for (const result of results) counts['error' in result ? 'refused' : 'accepted']++
    output.items(results)
    output.progress('Done:', counts.accepted + counts.refused, null)
  }
  const { accepted, refused } = counts
  output.note(`${accepted} emails were accepted, ${refused} were refused.`)
  if (refused > 0) {
    output.note('To send corrected lines, put them into another file: of a changed file, emails may be sent again.')
    throw outcomeError('emails_refused', `${refused} of ${accepted + refused} emails were refused.`)
  }
}

/** Yields the lines of a file in slices of SLICE lines. Skips empty lines, but counts them for the line numbers. */
async function* slicesOf({ signal }: Call, path: string, from_line: number): AsyncGenerator<Line[]> {
  const input: Readable = path === '-' ? process.stdin : fs().createReadStream(path)
  let line = 0
  let slice: Line[] = []
  try {
    for await (const text of linesOf(input, signal)) {
      line++
      if (line >= from_line && text.trim() !== '') slice.push({ line, text })
      if (slice.length < SLICE) continue
      yield slice
      slice = []
    }
  } catch (error) {
    throw cliError(`${path} cannot be read: ${(error as Error).message}`, error)
  }
  if (slice.length > 0) yield slice
}

/** Sends a request, and another one for emails that the batch did not send in time. Returns results in the order of lines. */
async function sendSlice(call: Call, slice: Line[], retries: Retries): Promise<Result[]> {
  const parsed: Parsed[] = []
  const results: Result[] = []
  for (const line of slice) {
    const email = parse(line.text)
    if (email) parsed.push({ ...line, email })
    else results.push({ line: line.line, error: 'The line is not a JSON object.' })
  }
  const key = (call.values.key as string | undefined) ?? hashOf(slice)
  const options = { ...retries, idempotencyKey: `${key}:${slice[0]?.line}` }
  if (parsed.length > 0) results.push(...(await sendLines(call, parsed, options)))
  return results.sort((one, other) => one.line - other.line)
}

async function sendLines(
  call: Call,
  lines: Parsed[],
  options: Retries & { idempotencyKey: string },
): Promise<Result[]> {
  try {
    const emails = lines.map(({ email }) => email)
    const permissive = { ...options, validation: 'permissive' as const, signal: call.signal }
    const { data, errors = [] } = await call.client().emails.batch(emails, permissive)
    // The result has the line, so that the index in the message would only confuse.
    const refused = new Map(errors.map(({ index, message }) => [index, message.replace(/`emails\[\d+\]\.?/, '`')]))
    const ids = data.map(({ id }) => id)
    return lines.map(({ line }, n) => {
      const error = refused.get(n)
      return error === undefined ? { line, id: ids.shift() as string } : { line, error }
    })
  } catch (error) {
    if (!MailbrookError.is(error, 'batch_incomplete')) throw error
    // The same key gets the same response, so that a repeated run sends the same rest.
    const sent = new Map((error.details.sent as { index: number; id: string }[]).map(({ index, id }) => [index, id]))
    const rest = lines.filter((_, n) => !sent.has(n))
    const done = lines.flatMap(({ line }, n) => (sent.has(n) ? [{ line, id: sent.get(n) as string }] : []))
    const next = { ...options, idempotencyKey: `${options.idempotencyKey}:rest` }
    return rest.length > 0 ? [...done, ...(await sendLines(call, rest, next))] : done
  }
}

function parse(text: string): NewEmail | null {
  try {
    const email = JSON.parse(text)
    return typeof email === 'object' && email !== null && !Array.isArray(email) ? email : null
  } catch {
    return null
  }
}

/** Returns a hash that is the same for the same lines. */
function hashOf(lines: Line[]): string {
  const hash = crypto().createHash('sha256')
  for (const { text } of lines) hash.update(text).update('\n')
  return hash.digest('hex')
}
