import type { Attempt } from '#lib/webhooks/post_event.ts'
import { addResult, isToRest, type Results } from '#lib/webhooks/standing.ts'
import type { DueEvent } from '#sql/webhooks/due_events.ts'
import type { ClaimedWebhook } from '#sql/webhooks/leases.ts'

/** Requests to one endpoint at the same time. */
const AT_ONCE = 2
/** Events per read; more are read once half of them are being sent. */
const READ_AHEAD = 100
/** The same before the endpoint has taken any, or if it fails: events of one that hangs stay in memory. */
const FIRST_READ = 10
/** Maximum number of events whose results are being written. */
const MAX_UNSETTLED = 400
/** Events are used for this long after the read: then the endpoint, secret or status of the webhook may have changed. */
const FRESH_MS = 1_000

export type EndpointDeps = {
  /** Returns due events of the webhook, without those held. */
  read(held: string[], limit: number): Promise<DueEvent[]>
  post(event: DueEvent): Promise<Attempt>
  /** True if an endpoint whose last attempt failed may keep its place. */
  mayFail(): boolean
  /** Resolves once it is written. */
  settle(event: DueEvent, attempt: Attempt): Promise<void>
}

/** A webhook that this process has leased: sends its due events in order, two at a time, as long as it accepts them. */
export class EndpointQueue {
  readonly began_at = performance.now()
  readonly #deps: EndpointDeps
  readonly #ended = Promise.withResolvers<void>()
  #isFailing: boolean
  #results: Results
  /** Time of the last response, or of the first request in progress. */
  #heard_at = 0
  #limit = FIRST_READ
  #waiting: DueEvent[] = []
  #read_at = 0
  #isReading = false
  /** The last read returned less than its limit (all there is, or large events): the next one waits until none is left. */
  #isDry = false
  #active = 0
  readonly #unsettled = new Set<string>()
  #isStopped = false
  #error: { reason: unknown } | null = null

  constructor(webhook: Pick<ClaimedWebhook, 'failure_count' | 'recent_results'>, deps: EndpointDeps) {
    this.#isFailing = webhook.failure_count > 0
    this.#results = webhook.recent_results
    this.#deps = deps
  }

  /** True if the last attempt failed. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** True if the endpoint has been silent for longer than this. */
  isSilent(ms: number): boolean {
    return this.#active > 0 && performance.now() > this.#heard_at + ms
  }

  /**
   * Resolves once nothing is due, the webhook must rest, or it was stopped, and no request is in progress.
   * @throws the errors of `read`, `post` and `settle`
   */
  async run(): Promise<void> {
    this.#pump()
    await this.#ended.promise
  }

  /** Stops sending; requests in progress are still waited for. */
  stop(): void {
    this.#isStopped = true
    this.#waiting = []
    this.#pump()
  }

  #pump(): void {
    if (performance.now() > this.#read_at + FRESH_MS) {
      this.#waiting = []
      this.#isDry = false
    }
    const slots = isToRest(this.#results) ? 1 : AT_ONCE
    while (this.#active < slots && this.#unsettled.size < MAX_UNSETTLED) {
      const event = this.#waiting.shift()
      if (!event) break
      if (this.#active++ === 0) this.#heard_at = performance.now()
      this.#unsettled.add(event.event_id)
      void this.#send(event).catch(error => this.#fail(error))
    }
    const isToRead = this.#waiting.length === 0 || (!this.#isDry && this.#waiting.length <= this.#limit / 2)
    if (isToRead && !this.#isStopped && !this.#isReading && this.#unsettled.size < MAX_UNSETTLED) {
      this.#isReading = true
      void this.#read().catch(error => this.#fail(error))
    }
    if (this.#isStopped && this.#unsettled.size === 0 && !this.#isReading) this.#end()
  }

  #end(): void {
    if (this.#error) this.#ended.reject(this.#error.reason)
    else this.#ended.resolve()
  }

  async #read(): Promise<void> {
    const limit = this.#limit
    const found = await this.#deps
      .read([...this.#unsettled, ...this.#waiting.map(({ event_id }) => event_id)], limit)
      .finally(() => {
        this.#isReading = false
      })
    if (this.#isStopped) return this.#pump()
    // The age counts from the end of the read: after a slow read all events, and those of the next, would be stale at once.
    if (this.#waiting.length === 0) this.#read_at = performance.now()
    this.#waiting.push(...found)
    this.#isDry = found.length < limit
    if (this.#waiting.length > 0) this.#pump()
    else if (this.#active === 0) this.stop()
    // Otherwise the next response starts another read.
  }

  async #send(event: DueEvent): Promise<void> {
    try {
      const attempt = await this.#deps.post(event).finally(() => this.#active--)
      this.#heard_at = performance.now()
      this.#isFailing = !attempt.is_success
      this.#results = addResult(this.#results, attempt.is_success ? 's' : attempt.is_hung ? 'h' : 'f')
      this.#limit = attempt.is_success ? READ_AHEAD : FIRST_READ
      if (attempt.is_gone || attempt.patience > 0 || isToRest(this.#results)) this.stop()
      else if (this.#isFailing && !this.#deps.mayFail()) this.stop()
      const settled = this.#deps.settle(event, attempt)
      this.#pump()
      await settled
    } finally {
      this.#unsettled.delete(event.event_id)
    }
    this.#pump()
  }

  #fail(reason: unknown): void {
    this.#error ??= { reason }
    this.stop()
  }
}
