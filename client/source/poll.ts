import { sleep } from './calls/retries.ts'
import { MailbrookError } from './error.ts'

export const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 5_000

type Limits = { within: number; signal?: AbortSignal | undefined }

/**
 * Reads something repeatedly, with growing waits, until it is done, and returns it.
 * @throws {MailbrookError} `wait_timeout` if it is not done within `within` milliseconds
 */
export async function poll<Value>(
  read: () => Promise<Value>,
  isDone: (value: Value) => boolean,
  { within, signal }: Limits,
): Promise<Value> {
  const end = Date.now() + within
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 1.5, LONGEST_WAIT_MS)) {
    const value = await read()
    if (isDone(value)) return value
    const left = end - Date.now()
    if (left <= 0) throw new MailbrookError(null, 'wait_timeout', `It was not done within ${within} ms.`)
    await sleep(Math.min(wait, left), signal)
  }
}
