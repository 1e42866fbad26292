import type { Attempt } from '#lib/webhooks/post_event.ts'
import { addResult, isToRest, type Results } from '#lib/webhooks/standing.ts'
import type { DueEvent } from '#sql/webhooks/due_events.ts'
import type { ClaimedWebhook } from '#sql/webhooks/leases.ts'

/** Requests to one endpoint at the same moment. */
const AT_ONCE = 2
/** Events of one read; more are read once half of them are on their way. */
const READ_AHEAD = 100
/** And before the endpoint has taken any, or when it fails: those of one that hangs lie in memory as long as it does. */
const FIRST_READ = 10
/** Events whose results are being written, at the most. */
const MAX_UNSETTLED = 400
/** What was read of the webhook is heeded for so long: then its endpoint, its secret or its status may be others. */
const FRESH_MS = 1_000

export type EndpointDeps = {
  /** Due events of the webhook, but for these. */
  read(held: string[], limit: number): Promise<DueEvent[]>
  post(event: DueEvent): Promise<Attempt>
  /** Whether one whose last attempt failed may keep its place. */
  mayFail(): boolean
  /** Resolves once it is written. */
  settle(event: DueEvent, attempt: Attempt): Promise<void>
}

/** One webhook that this process has leased: its due events in their order, two at a time, as long as it takes them. */
export class EndpointQueue {
  readonly began_at = performance.now()
  readonly #deps: EndpointDeps
  readonly #ended = Promise.withResolvers<void>()
  #isFailing: boolean
  #results: Results
  /** When it answered last, or the first of those under way was sent. */
  #heard_at = 0
  #limit = FIRST_READ
  #waiting: DueEvent[] = []
  #read_at = 0
  #isReading = false
  /** The last read brought all there was, or events that are large: the next is made once none of them waits. */
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

  /** Its last attempt failed. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** Its endpoint has been silent for longer than so many ms. */
  isSilent(ms: number): boolean {
    return this.#active > 0 && performance.now() > this.#heard_at + ms
  }

  /**
   * Until nothing is due, it is to rest, or it was stopped, and nothing is on its way.
   * @throws what `read`, `post` or `settle` throw
   */
  async run(): Promise<void> {
    this.#pump()
    await this.#ended.promise
  }

  /** What is on its way is waited for. */
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
    // From its answer on: what waited long for it would be stale before any of it was sent, and so would the next.
    if (this.#waiting.length === 0) this.#read_at = performance.now()
    this.#waiting.push(...found)
    this.#isDry = found.length < limit
    if (this.#waiting.length > 0) this.#pump()
    else if (this.#active === 0) this.stop()
    // Else whoever is on its way reads again when it is there.
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
