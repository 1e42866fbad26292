import type { Log } from '#lib/log.ts'

const WINDOW_MS = 60_000
const HOSTS_TO_TELL = 5
const REPEAT_MS = 10 * 60_000

/**
 * Logs an error for the operator if several servers were tried within a minute and none could be reached. Many networks block
 * port 25, while each delivery by itself only shows that one server was unreachable.
 */
export class OutboundWatch {
  readonly #log: Log
  readonly #now: () => number
  readonly #unreached = new Map<string, number>()
  #told_at = Number.NEGATIVE_INFINITY

  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  reached(): void {
    this.#unreached.clear()
  }

  unreached(host: string, reason: string): void {
    const now = this.#now()
    this.#unreached.set(host, now)
    for (const [name, time] of this.#unreached) if (time < now - WINDOW_MS) this.#unreached.delete(name)
    if (this.#unreached.size < HOSTS_TO_TELL || now < this.#told_at + REPEAT_MS) return
    this.#told_at = now
    this.#log.error({ reason }, 'no mail server can be reached; npm run doctor tells whether port 25 is open')
  }
}
