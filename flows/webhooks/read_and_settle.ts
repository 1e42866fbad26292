import { insist } from '#flows/process/retry_until.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import type { Attempt } from '#lib/webhooks/post_event.ts'
import { retryWebhook } from '#lib/webhooks/retry.ts'
import type { Pool } from '#sql/pool.ts'
import { splitOnRefusal } from '#sql/retry.ts'
import {
  type DueEvent,
  listDueEvents,
  type RestTimes,
  settleWebhooks,
  type WebhookId,
  type WebhookResult,
  type Wish,
} from '#sql/webhooks/due_events.ts'
import { releaseWebhooks } from '#sql/webhooks/leases.ts'

/** What a worker reads and writes about the webhooks it has leased: of many in one round trip. */
export type WebhookLedger = {
  read(wish: Wish): Promise<DueEvent[]>
  /** Writes a result, however long Postgres is away: it is forgotten only by `giveUp`. */
  settle(event: DueEvent, attempt: Attempt): Promise<void>
  release(webhook: WebhookId): Promise<void>
  /** From now on a result that cannot be written is lost, and its event sent again. */
  giveUp(): void
}

/** `stopping`: from then on nothing is read that Postgres does not answer at once. */
type Options = { owner: string; stopping: AbortSignal; times: RestTimes & { retry_seconds: readonly number[] } }

export function createWebhookLedger(pool: Pool, log: Log, { owner, stopping, times }: Options): WebhookLedger {
  const gaveUp = new AbortController()

  const read = coalesce<Wish, DueEvent[]>(
    async wishes => {
      const found = await insist(stopping, log, 'webhooks', () => listDueEvents(pool, owner, wishes))
      const events = Map.groupBy(found, event => event.webhook_id)
      return wishes.map(({ webhook_id }) => events.get(webhook_id) ?? [])
    },
    { in_flight: 1, max_items: 20 },
  )

  const write = async (results: WebhookResult[]): Promise<undefined[]> => {
    await settleWebhooks(pool, results, times)
    return results.map(() => undefined)
  }
  const record = coalesce<WebhookResult, undefined>(
    results =>
      insist(gaveUp.signal, log, 'results of webhooks', () => splitOnRefusal<WebhookResult, undefined>(results, write)),
    // Fewer and larger statements: what sends mail works beside it. Who is killed has the last of it sent again.
    { in_flight: 1, max_items: 200, interval_ms: 40 },
  )

  const release = coalesce<WebhookId, undefined>(
    async webhooks => {
      await releaseWebhooks(pool, owner, webhooks)
      return webhooks.map(() => undefined)
    },
    { in_flight: 1, max_items: 200 },
  )

  return {
    read,
    release,
    async settle({ first_attempt, signing_secret: _secret, body: _body, ...event }, { patience, detail: _, ...made }) {
      const delay = made.is_success
        ? null
        : retryWebhook(event.attempt + 1 - first_attempt, patience, times.retry_seconds)
      const rest = patience > 0 ? patience : null
      await record({ ...event, id: newId(), ...made, delay, rest })
    },
    giveUp: () => gaveUp.abort(),
  }
}
