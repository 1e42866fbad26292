import { setTimeout as sleep } from 'node:timers/promises'

// A query costs as much as the work that is waited for: the longer it takes, the less often it is repeated.
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 50
/** The next pause as a fraction of the time that has passed. */
const SHARE = 1 / 20

type Truthy<Found> = Exclude<Found, false | null | undefined | 0 | ''>

/**
 * Polls with short pauses until `isTrue` returns something truthy, and returns that. `what` describes it for the error, as in
 * "the mail is sent"; if it is a function, it is called at the limit and may describe the progress.
 *
 * @throws {Error} that contains `what` if it does not happen within `ms`, and whatever `isTrue` throws
 */
export async function waitUntil<Found>(
  isTrue: () => Found | Promise<Found>,
  what: string | (() => string | Promise<string>),
  ms = 150_000, // only something that hangs takes so long
): Promise<Truthy<Found>> {
  const start = performance.now()
  for (;;) {
    const found = await isTrue()
    if (found) return found as Truthy<Found>
    const passed = performance.now() - start
    if (passed > ms) {
      throw new Error(`not within ${ms / 1_000} s: ${typeof what === 'string' ? what : await what()}`)
    }
    await sleep(Math.min(Math.max(passed * SHARE, FIRST_PAUSE_MS), LONGEST_PAUSE_MS))
  }
}
