import type { Config } from '#lib/config.ts'
import type { Log } from '#lib/log.ts'
import {
  type DeliveryResult,
  listDoubtfulDeliveries,
  listLostDeliveries,
  type Stray,
  settleDeliveries,
} from '#sql/delivery/deliveries.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { unlockDeadPools } from '#sql/process/worker_heartbeats.ts'
import { claimUnparsedEmails } from '#sql/receiving/emails_to_parse.ts'
import { dropDueEvents, listDisabledWebhooks } from '#sql/webhooks/purge.ts'
import { RESEND_AFTER_SECONDS } from './decide_outcome.ts'

const BATCH = 500

/**
 * Recovers the deliveries of dead workers: before the final dot it is safe to send again, after it the delivery is in doubt.
 * Also resends deliveries that have been in doubt for long enough. Any number of processes may sweep at the same time.
 */
export async function sweepDeliveries(pool: Pool, log: Log, config: Config): Promise<void> {
  const lost = await sweep(pool, listLostDeliveries, stray =>
    stray.phase === 'dot'
      ? {
          outcome: 'in_doubt',
          reason: 'Its worker died while the receiver’s answer was awaited.',
          delay: RESEND_AFTER_SECONDS,
          hold: config.IN_DOUBT === 'hold',
        }
      : { outcome: 'lost', reason: 'Its worker died before it was sent.' },
  )
  if (lost > 0) log.warn({ count: lost }, 'deliveries of a dead worker were taken over')

  const reason = 'It was in doubt and is sent once more.'
  await sweep(pool, listDoubtfulDeliveries, () => ({ outcome: 'resumed', reason }))
}

/** Settles everything that `list` finds, in batches; returns how many were settled. */
async function sweep(
  pool: Pool,
  list: (pool: Pool, limit: number) => Promise<Stray[]>,
  decide: (stray: Stray) => DeliveryResult,
): Promise<number> {
  for (let count = 0; ; ) {
    const strays = await list(pool, BATCH)
    const results = strays.map(stray => {
      const { account_id, id, email_id, attempt, lease_owner } = stray
      return { ...decide(stray), account_id, id, email_id, attempt, lease_owner }
    })
    const settled = results.length > 0 ? await settleDeliveries(pool, results) : []
    count += settled.length
    // Deliveries that another sweep has settled meanwhile are not counted.
    if (strays.length < BATCH || settled.length === 0) return count
  }
}

/** Frees the jobs of worker pools that are gone. */
export async function sweepPools(pool: Pool, log: Log, after_seconds: number): Promise<void> {
  const pool_ids = await unlockDeadPools(pool, after_seconds)
  if (pool_ids.length > 0) log.warn({ pool_ids }, 'jobs of dead workers were unlocked')
}

/** Most emails per job. */
const PARSED_TOGETHER = 100

/** Adds a new job for received emails whose job was lost. */
export async function sweepReceivedEmails(pool: Pool, log: Log): Promise<void> {
  for (;;) {
    const ids = await pool.transaction(async tx => {
      const claimed = await claimUnparsedEmails(tx, PARSED_TOGETHER)
      if (claimed.length > 0) await addJob(tx, 'parse_email', { ids: claimed })
      return claimed
    })
    if (ids.length > 0) log.warn({ count: ids.length }, 'received emails were not read in time')
    if (ids.length < PARSED_TOGETHER) return
  }
}

/** Most webhooks per sweep. */
const WEBHOOKS = 100

/** Deletes the due events of disabled webhooks: nothing else would. */
export async function sweepWebhooks(pool: Pool): Promise<void> {
  for (const webhook of await listDisabledWebhooks(pool, WEBHOOKS)) await dropDueEvents(pool, webhook)
}
