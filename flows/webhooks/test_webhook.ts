import { z } from 'zod'
import { now } from '#lib/clock.ts'
import { notFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import type { Connections } from '#lib/net/fetch/connections.ts'
import type { Secrets } from '#lib/secrets.ts'
import { TEST_EVENT } from '#lib/webhooks/event_types.ts'
import { ATTEMPT_MS, postEvent } from '#lib/webhooks/post_event.ts'
import type { Pool } from '#sql/pool.ts'
import type { WebhookPath } from '#sql/webhooks/history.ts'
import { findTarget, insertTest } from '#sql/webhooks/tests.ts'
import { openSigner } from './signing_secrets.ts'

type Tester = { pool: Pool; log: Log; secrets: Secrets; connections: Connections }

export const TestedWebhook = z
  .object({
    object: z.literal('webhook_test'),
    id: z.string(),
    ok: z.boolean().describe('True if the response was `2xx`.'),
    status: z.int().describe('HTTP status of the reply; 0 without one.'),
    error: z.string().optional().describe('Why it failed.'),
  })
  .meta({ id: 'WebhookTest' })
export type TestedWebhook = z.infer<typeof TestedWebhook>

/**
 * Posts a `test` event once and waits for the response, whatever the subscriptions and status of the webhook. The event
 * is kept in the history but counts for nothing.
 *
 * @throws {ApiError} 404
 */
export async function testWebhook(
  { pool, log, secrets, connections }: Tester,
  webhook: WebhookPath,
  deadline_ms = ATTEMPT_MS,
): Promise<TestedWebhook> {
  const target = await findTarget(pool, webhook)
  if (!target) throw notFound('Webhook')
  const { account_id, webhook_id: id } = webhook
  const { event_id, created_at, body } = makeTest(id)

  const sign = openSigner(secrets, { account_id, ...target })
  const outgoing = { endpoint: target.endpoint, id: event_id, body, sign }
  const { is_success: ok, detail, ...attempt } = await postEvent(connections, outgoing, deadline_ms)
  if (detail !== null) log.info({ webhook_id: id, event_id, detail }, 'an endpoint did not respond')
  const test = { account_id, webhook_id: target.id, event_id, created_at, body, id: newId() }
  await insertTest(pool, { ...test, ...attempt, is_success: ok })
  const { status, error } = attempt
  return { object: 'webhook_test', id, ok, status: status ?? 0, ...(error === null ? {} : { error }) }
}

function makeTest(webhook_id: string): { event_id: string; created_at: Date; body: Buffer } {
  const event_id = newId()
  const created_at = now()
  const data = { message: 'This is a test of your webhook.', webhook_id }
  return {
    event_id,
    created_at,
    body: Buffer.from(JSON.stringify({ type: TEST_EVENT, created_at, id: event_id, data })),
  }
}
