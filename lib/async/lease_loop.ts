import type { Log } from '#lib/log.ts'
import { coalesce } from './coalesce.ts'
import { waitAtMost } from './wait_at_most.ts'

export type LeaseTimes = {
  /** How often it looks for due work. Work whose job was lost is late by at most this. */
  poll_ms: number
  /** How often leases are extended. */
  heartbeat_ms: number
  /** How long `stop` waits for work under way to end. */
  drain_ms: number
}

/** Maximum number of calls of `offer` per claim. */
const OFFERS = 1_000

/**
 * Claims due work from Postgres and keeps it leased until it is done: polls, claims (one claim at a time), extends leases, and
 * drains when it stops. A subclass defines the work. If the process dies, the leases expire and the work is claimed again.
 */
export abstract class LeaseLoop<Id> {
  readonly #log: Log
  readonly #work: string
  readonly #times: LeaseTimes
  readonly #stopping = new AbortController()
  readonly #claim: (ids: Id[] | null) => Promise<void>
  #timers: NodeJS.Timeout[] = []
  #later: NodeJS.Timeout | undefined

  /** `work` names it in the log: 'due mail could not be claimed'. */
  constructor(log: Log, work: string, times: LeaseTimes) {
    this.#log = log
    this.#work = work
    this.#times = times
    this.#claim = coalesce<Id[] | null, void>(
      async offers => {
        const ids = offers.includes(null) ? null : offers.flatMap(offered => offered ?? [])
        if (!this.stopping.aborted) await this.claim(ids)
        return offers.map(() => undefined)
      },
      { in_flight: 1, max_items: OFFERS },
    )
  }

  /** Claims the due work among these ids, or all due work (null), as far as there is room, and starts it. */
  protected abstract claim(ids: Id[] | null): Promise<void>
  /** Extends the leases of everything held. */
  protected abstract extendLeases(): Promise<void>
  /** Stops everything held that can be stopped. */
  protected abstract giveBack(): void
  /** Ends everything that is still under way. It stays claimed until its lease expires. */
  protected abstract giveUp(): void
  /** Resolves once nothing is held. */
  abstract idle(): Promise<void>

  /** Aborted when `stop` is called. */
  protected get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** Claims these as far as there is room. Resolves once they are claimed; never waits for the work itself. */
  offer(ids: Id[]): Promise<void> {
    return this.#claim(ids)
  }

  /** Starts to poll for due work. Does nothing if it has started already. */
  start(): void {
    if (this.#timers.length > 0) return
    const { poll_ms, heartbeat_ms } = this.#times
    this.#timers = [setInterval(() => this.look(), poll_ms), setInterval(() => this.#beat(), heartbeat_ms)]
  }

  /** Stops claiming, gives back what can be given back, and waits for the rest. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    // Queues up behind a claim under way, so that the work it claims is given back too.
    await this.#claim([]).catch(error => this.#log.error({ err: error }, 'a claim failed during the stop'))
    this.giveBack()
    await waitAtMost(this.#times.drain_ms, this.idle())
    this.giveUp()
    await this.idle()
    for (const timer of this.#timers) clearInterval(timer)
  }

  /** Claims all due work. */
  protected look(): void {
    this.#claim(null).catch(error => this.#log.error({ err: error }, `due ${this.#work} could not be claimed`))
  }

  /** Looks again after this time. Does nothing if such a timer is set already, or before `start`. */
  protected lookIn(ms: number): void {
    if (this.#later || this.#timers.length === 0) return
    this.#later = setTimeout(() => {
      this.#later = undefined
      if (!this.stopping.aborted) this.look()
    }, ms).unref()
  }

  #beat(): void {
    this.extendLeases().catch(error => this.#log.error({ err: error }, `leases of ${this.#work} could not be extended`))
  }
}
