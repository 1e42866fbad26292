import { now } from '#lib/clock.ts'
import { ApiError } from '#lib/errors.ts'
import type { WebhookReplay } from '#lib/webhooks/event_filter.ts'
import { TEST_EVENT } from '#lib/webhooks/event_types.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import type { WebhookEvent, WebhookPath } from '#sql/webhooks/history.ts'
import { replayDelivery, replaySlice } from '#sql/webhooks/replays.ts'
import { requireWebhook } from './find_webhook.ts'

/**
 * Sends an event to a webhook again, whatever its result was.
 *
 * @throws {ApiError} 404; `validation_error` if the webhook is disabled or the event is a test
 */
export async function replayEvent(tx: Tx, webhook: WebhookPath, { id, type }: WebhookEvent): Promise<void> {
  if (type === TEST_EVENT) throw new ApiError('validation_error', 'A test event cannot be replayed: send another one.')
  await requireEnabled(tx, webhook)
  await replayDelivery(tx, webhook, id)
  await nudge(tx, webhook)
}

/** Events per statement; few enough that Postgres finds each by an index instead of reading all for every slice. */
const SLICE = 500

/**
 * Sends all matching events again, except tests; by default those until now. Returns how many. Stops early if the webhook
 * is disabled meanwhile.
 *
 * @throws {ApiError} 404; `validation_error` if the webhook is disabled
 */
export async function replayEvents(pool: Pool, webhook: WebhookPath, which: WebhookReplay): Promise<number> {
  await requireEnabled(pool, webhook)
  const range = { ...which, to: which.to ?? now() } // fixed before the first slice: events are added all the time
  let replayed = 0
  for (let after: string | null = null; ; ) {
    const slice = await retryConflicts(() => replaySlice(pool, webhook, range, after, SLICE))
    replayed += slice.replayed
    after = slice.last
    if (after === null) break
  }
  if (replayed > 0) await nudge(pool, webhook)
  return replayed
}

/** Checks that a webhook is enabled, since a disabled one drops its waiting events. @throws {ApiError} */
async function requireEnabled(db: Queryable, webhook: WebhookPath): Promise<void> {
  const { status } = await requireWebhook(db, webhook)
  if (status === 'disabled') throw new ApiError('validation_error', 'The webhook is disabled: enable it first.')
}

/** Wakes the senders. The rows are due already and would be found a moment later anyway. */
async function nudge(db: Queryable, { account_id, webhook_id }: WebhookPath): Promise<void> {
  await addJob(db, 'deliver_webhooks', { webhooks: [{ account_id, id: Number(webhook_id) }] })
}
