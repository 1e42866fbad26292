import { retryUntil } from '#flows/process/retry_until.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import type { Attempt } from '#lib/webhooks/post_event.ts'
import { retryWebhook } from '#lib/webhooks/retry.ts'
import type { Pool } from '#sql/pool.ts'
import { splitOnRefusal } from '#sql/retry.ts'
import {
  type DueEvent,
  type DueEventsRequest,
  listDueEvents,
  type RestTimes,
  settleWebhooks,
  type WebhookId,
  type WebhookResult,
} from '#sql/webhooks/due_events.ts'
import { releaseWebhooks } from '#sql/webhooks/leases.ts'

type Options = { owner: string; times: RestTimes & { retry_seconds: readonly number[] }; stopping: AbortSignal }

const ONE_AT_A_TIME = { in_flight: 1, max_items: 200 }

/** Reads events and writes results of the webhooks that a worker has leased: many per round trip. */
export class WebhookStore {
  readonly #pool: Pool
  readonly #options: Options
  readonly #gaveUp = new AbortController()
  readonly #read: (request: DueEventsRequest) => Promise<DueEvent[]>
  readonly #write: (result: WebhookResult) => Promise<undefined>
  readonly #release: (webhook: WebhookId) => Promise<undefined>

  /** A read that fails after `stopping` is not retried. */
  constructor(pool: Pool, log: Log, options: Options) {
    const { owner, stopping } = options
    this.#pool = pool
    this.#options = options
    this.#read = coalesce(
      async requests => {
        const found = await retryUntil(stopping, log, 'webhooks', () => listDueEvents(pool, owner, requests))
        const events = Map.groupBy(found, event => event.webhook_id)
        return requests.map(({ webhook_id }) => events.get(webhook_id) ?? [])
      },
      { in_flight: 1, max_items: 20 },
    )
    this.#write = coalesce(
      results => retryUntil(this.#gaveUp.signal, log, 'results of webhooks', () => this.#settleEach(results)),
      // Batched into fewer and larger statements, because sending of mail runs at the same time. If the process dies,
      // the last results are lost and their events are sent again.
      { ...ONE_AT_A_TIME, interval_ms: 40 },
    )
    this.#release = coalesce(webhooks => this.#releaseAll(webhooks), ONE_AT_A_TIME)
  }

  read(request: DueEventsRequest): Promise<DueEvent[]> {
    return this.#read(request)
  }

  /** Writes a result; retries until `giveUp` while Postgres is unavailable. */
  async settle(event: DueEvent, attempt: Attempt): Promise<void> {
    const { first_attempt, signing_secret: _secret, body: _body, ...rest } = event
    const { patience, detail: _detail, ...made } = attempt
    const count = event.attempt + 1 - first_attempt
    const delay = made.is_success ? null : retryWebhook(count, patience, this.#options.times.retry_seconds)
    await this.#write({ ...rest, id: newId(), ...made, delay, rest: patience > 0 ? patience : null })
  }

  async release(webhook: WebhookId): Promise<void> {
    await this.#release(webhook)
  }

  /** From now on a result that cannot be written is lost, and its event sent again. */
  giveUp(): void {
    this.#gaveUp.abort()
  }

  #settleEach(results: WebhookResult[]): Promise<(undefined | Error)[]> {
    return splitOnRefusal(results, async some => {
      await settleWebhooks(this.#pool, some, this.#options.times)
      return some.map(() => undefined)
    })
  }

  async #releaseAll(webhooks: WebhookId[]): Promise<undefined[]> {
    await releaseWebhooks(this.#pool, this.#options.owner, webhooks)
    return webhooks.map(() => undefined)
  }
}
