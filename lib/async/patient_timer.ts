/** A delay that this process adds by itself is noticed from here on; ordinary timers are late by less. */
const LATE_MS = 20

/**
 * A time limit for what others do. When the timer fires late, this process stood still (a module was loaded, the machine
 * paused) and the answer may be waiting unread. The peer then gets that much more time, in total at most `ms`.
 */
export class PatientTimer {
  readonly #onTimeout: () => void
  #grace: number
  #timer: NodeJS.Timeout

  constructor(ms: number, onTimeout: () => void) {
    this.#onTimeout = onTimeout
    this.#grace = ms
    this.#timer = this.#start(ms)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #start(ms: number): NodeJS.Timeout {
    const due = performance.now() + ms
    return setTimeout(() => this.#expire(performance.now() - due), ms)
  }

  #expire(late: number): void {
    const extra = Math.min(late, this.#grace)
    if (late < LATE_MS || extra <= 0) {
      this.#onTimeout()
      return
    }
    this.#grace -= extra
    this.#timer = this.#start(extra)
  }
}
