import { setImmediate } from 'node:timers/promises'

/** Longest time that work may hold the event loop, in ms. */
const MAX_MS = 8

/** Lets long work share the event loop: use `if (slice.isOver) await slice.pause()` between its steps. */
export class TimeSlice {
  #since = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#since > MAX_MS
  }

  async pause(): Promise<void> {
    await setImmediate()
    this.#since = performance.now()
  }
}

/** Runs all steps without a pause, for short work. */
export function atOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Runs work that yields between its steps, with a pause whenever the slice is over. */
export async function runInSlices<Result>(steps: Generator<void, Result>, slice: TimeSlice): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (slice.isOver) await slice.pause()
  }
}
