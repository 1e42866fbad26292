import { setTimeout as sleep } from 'node:timers/promises'

// A question to a database or an API costs as much as what is waited for: the longer it takes, the more seldom it is asked.
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 50
/** A pause is so much of the time that has passed. */
const SHARE = 1 / 20

type Truthy<Found> = Exclude<Found, false | null | undefined | 0 | ''>

/**
 * Asks again and again, with a short pause, until `isTrue` returns something truthy; returns that. `what` says what is
 * waited for, as in "the mail is sent"; a function is asked once the time is over, and can say how far it came.
 *
 * @throws {Error} that names `what` if it is not so within `ms`, and whatever `isTrue` throws
 */
export async function waitUntil<Found>(
  isTrue: () => Found | Promise<Found>,
  what: string | (() => string | Promise<string>),
  ms = 60_000,
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
