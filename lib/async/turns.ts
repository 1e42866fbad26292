import { setImmediate } from 'node:timers/promises'

/** So long a step may take before others get their turn of the event loop. */
const MAX_MS = 8

/** Long work that is done in steps: `if (turns.isOver) await turns.rest()` between them lets others have their turn. */
export class Turns {
  #since = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#since > MAX_MS
  }

  async rest(): Promise<void> {
    await setImmediate()
    this.#since = performance.now()
  }
}

/** The same steps without turns, for work that is short. */
export function atOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Long work that yields between its steps, done in turns. */
export async function inTurns<Result>(steps: Generator<void, Result>, turns: Turns): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (turns.isOver) await turns.rest()
  }
}
