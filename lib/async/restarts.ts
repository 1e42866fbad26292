/** `pauses_ms`: the pause before each restart. After it has run for `well_ms`, the count of restarts begins again. */
export type RestartLimits = { pauses_ms: number[]; well_ms: number }

/** Three times, with growing pauses. */
const RESTART_LIMITS: RestartLimits = { pauses_ms: [500, 2_000, 5_000], well_ms: 60_000 }

/** Decides whether and when something that has ended is restarted. */
export class Restarts {
  readonly #limits: RestartLimits
  #count = 0
  #started_at = performance.now()

  constructor(limits: RestartLimits = RESTART_LIMITS) {
    this.#limits = limits
  }

  /** Returns the milliseconds until the next start; null if it has ended too often. */
  next(): number | null {
    const { pauses_ms, well_ms } = this.#limits
    if (performance.now() - this.#started_at >= well_ms) this.#count = 0
    this.#started_at = Number.POSITIVE_INFINITY // not running
    return pauses_ms[this.#count++] ?? null
  }

  /** Reports that it is running. */
  started(): void {
    this.#started_at = performance.now()
  }
}
