/** A timer that fires at least this late was delayed because the process was blocked; usually timers are late by less. */
const LATE_MS = 20

/**
 * A time limit for a peer. If the timer fires late, this process was blocked (it loaded a module, the machine paused), and the
 * reply may be waiting unread. The peer then gets that much more time, in total at most `ms`.
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
