/** Maximum number of deliveries of campaigns that a process holds before it knows how fast it sends. */
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

  /** @param slots deliveries sent at the same time; as many again may be set aside to wait for a slow server */
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

/** How long after the last other email more of them are expected. */
const OTHERS_MS = 5_000
/** How often the number of slots is decided. */
const DECISION_MS = 250
/** From here on the steps of an email wait noticeably for other work: at 0.6 about as long as they take, at 0.9 nine times as long. */
const BUSY = 0.6

/**
 * Limits the deliveries of campaigns that are sent at the same time, down to an eighth of the slots, while the process is busy and
 * has other mail too: the more deliveries are under way, the longer each step of an email takes.
 */
export class CampaignSlots {
  readonly #slots: number
  readonly #now: () => number
  readonly #utilization: () => number
  #count: number
  #decided_at: number
  #others_at = Number.NEGATIVE_INFINITY

  /** @param utilization returns which part of the time since its last call the event loop was busy, from 0 to 1 */
  constructor(slots: number, now = () => performance.now(), utilization = measureUtilization()) {
    this.#slots = slots
    this.#now = now
    this.#utilization = utilization
    this.#count = slots
    this.#decided_at = now()
  }

  noteOtherMail(): void {
    this.#others_at = this.#now()
  }

  /** Returns a number of slots: a delivery of a campaign is started only while fewer are taken. */
  count(): number {
    const now = this.#now()
    if (now - this.#decided_at < DECISION_MS) return this.#count
    this.#decided_at = now
    const isBusy = this.#utilization() > BUSY && now - this.#others_at < OTHERS_MS
    this.#count = isBusy
      ? Math.max(Math.ceil(this.#slots / 8), Math.floor(this.#count / 2))
      : Math.min(this.#slots, this.#count + Math.ceil(this.#slots / 8))
    return this.#count
  }
}

function measureUtilization(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const current = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(current, last)
    last = current
    return utilization
  }
}
