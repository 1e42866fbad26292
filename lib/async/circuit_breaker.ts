const FAILURES_TO_OPEN = 5
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 5 * 60_000

/**
 * Stops calling a service that keeps failing. After five failures in a row it lets only one probe through per pause. The pause
 * doubles from 5 s to 5 min, and ends when a probe succeeds.
 */
export class Breaker {
  #failures = 0
  #pause = FIRST_PAUSE_MS
  #probe_at = 0
  #isProbing = false
  #reason = ''
  readonly #now: () => number

  /** @param now a clock in ms that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Returns the reason not to try now, or null to go ahead. While the breaker is open, one caller per pause gets null. */
  refuses(): string | null {
    if (this.#failures < FAILURES_TO_OPEN) return null
    if (this.#now() < this.#probe_at) return this.#reason
    this.#probe_at = this.#now() + this.#pause
    this.#isProbing = true
    return null
  }

  failed(reason: string): void {
    this.#failures++
    this.#reason = `Not tried after ${this.#failures} failures in a row. ${reason}`
    // Calls that were under way when it opened say nothing new.
    if (!this.#isProbing && this.#failures !== FAILURES_TO_OPEN) return
    if (this.#isProbing) this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS)
    this.#isProbing = false
    this.#probe_at = this.#now() + this.#pause
  }

  /** Reports an attempt that proves nothing, so that the next attempt may be the probe. */
  abstained(): void {
    if (this.#isProbing) this.#probe_at = this.#now()
  }

  succeeded(): void {
    this.#failures = 0
    this.#pause = FIRST_PAUSE_MS
    this.#isProbing = false
  }
}
