import type { Pool } from '#sql/pool.ts'
import { dropDueEvents, listDisabledWebhooks } from '#sql/webhooks/purge.ts'

/** Webhooks per run. */
const WEBHOOKS = 100

/**
 * Drops the events that wait for disabled webhooks: they would never be sent. Skips what another worker is dropping
 * already.
 */
export async function sweepWebhooks(pool: Pool): Promise<void> {
  for (const webhook of await listDisabledWebhooks(pool, WEBHOOKS)) await dropDueEvents(pool, webhook, 'skip')
}
