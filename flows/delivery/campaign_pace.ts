/** Most deliveries of campaigns that a process holds before it knows how fast it sends. */
const AT_REST = 125
/** Seconds of campaign mail that it may hold, at the rate of the last second. */
const AHEAD_SECONDS = 2
const WINDOW_MS = 1_000

/**
 * Limits the campaign deliveries that a process holds to about two seconds of sending, so that they do not delay other
 * mail, and a pause or a cancel still stops most of them.
 */
export class CampaignPace {
  readonly #now: () => number
  readonly #least: number
  #held = 0
  #ended = 0
  #rate = 0
  #since: number

  /** @param slots deliveries sent at the same time; at most that many more wait for a slow server */
  constructor(slots: number, now = () => performance.now()) {
    this.#least = Math.min(AT_REST, 2 * slots)
    this.#now = now
    this.#since = now()
  }

  take(): void {
    this.#held++
  }

  leave(): void {
    this.#held--
    this.#ended++
    const ms = this.#now() - this.#since
    if (ms < WINDOW_MS) return
    this.#rate = (this.#ended / ms) * 1_000
    this.#ended = 0
    this.#since = this.#now()
  }

  /** Returns how many more deliveries of campaigns may be claimed. */
  room(): number {
    return Math.max(0, Math.floor(Math.max(this.#least, this.#rate * AHEAD_SECONDS)) - this.#held)
  }
}
