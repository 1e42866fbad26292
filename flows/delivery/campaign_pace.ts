/** Most mail of campaigns that a process holds before it knows how fast it sends. */
const AT_REST = 125
/** For how many seconds it may hold mail of campaigns, at the rate of the last second. */
const AHEAD_SECONDS = 2
const WINDOW_MS = 1_000

/**
 * How much mail of campaigns a process holds: what it needs for two seconds, so that it is not in the way of other mail, and a
 * pause or a cancel still reaches most of it.
 */
export class CampaignPace {
  readonly #now: () => number
  readonly #least: number
  #held = 0
  #ended = 0
  #rate = 0
  #since: number

  /** @param slots how many are sent at the same time: no more than these and as many again wait for a slow server */
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

  /** How much more it may claim. */
  room(): number {
    return Math.max(0, Math.floor(Math.max(this.#least, this.#rate * AHEAD_SECONDS)) - this.#held)
  }
}
