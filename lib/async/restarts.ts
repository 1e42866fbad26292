/** `pauses_ms`: before each start again. After running for `well_ms` it is as if it had never ended. */
export type RestartLimits = { pauses_ms: number[]; well_ms: number }

/** Three times, with growing pauses. */
const RESTART_LIMITS: RestartLimits = { pauses_ms: [500, 2_000, 5_000], well_ms: 60_000 }

/** Decides whether something that has ended is started again. */
export class Restarts {
  readonly #limits: RestartLimits
  #count = 0
  #started_at = performance.now()

  constructor(limits: RestartLimits = RESTART_LIMITS) {
    this.#limits = limits
  }

  /** Milliseconds until the next start; null when it has ended too often. */
  next(): number | null {
    const { pauses_ms, well_ms } = this.#limits
    if (performance.now() - this.#started_at >= well_ms) this.#count = 0
    this.#started_at = Number.POSITIVE_INFINITY // it does not run
    return pauses_ms[this.#count++] ?? null
  }

  /** It runs. */
  started(): void {
    this.#started_at = performance.now()
  }
}
