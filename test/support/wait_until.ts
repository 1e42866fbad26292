import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 10

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
  const limit = performance.now() + ms
  for (;;) {
    const found = await isTrue()
    if (found) return found as Truthy<Found>
    if (performance.now() > limit) {
      throw new Error(`not within ${ms / 1_000} s: ${typeof what === 'string' ? what : await what()}`)
    }
    await sleep(PAUSE_MS)
  }
}
