import type { Config } from '../lib/config.ts'
import type { Log } from '../lib/log.ts'
import { listDoubtfulDeliveries, listLostDeliveries, type Stray, settleDeliveries } from '../sql/deliveries.ts'
import type { Pool } from '../sql/pool.ts'
import { unlockDeadPools } from '../sql/worker_heartbeats.ts'
import { RESEND_AFTER_SECONDS, type Verdict } from './attempt_delivery.ts'

const BATCH = 500

/**
 * Moves on what a dead worker left: before the final dot it is safe to send again, after it the delivery is in doubt.
 * Resends what has been in doubt for long enough. Any number of processes may sweep at the same moment.
 */
export async function sweepDeliveries(pool: Pool, log: Log, config: Config): Promise<void> {
  const lost = await listLostDeliveries(pool, BATCH)
  await settle(pool, lost, stray =>
    stray.phase === 'dot'
      ? {
          outcome: 'in_doubt',
          reason: 'Its worker died while the receiver’s answer was awaited.',
          delay: RESEND_AFTER_SECONDS,
          hold: config.IN_DOUBT === 'hold',
        }
      : { outcome: 'lost', reason: 'Its worker died before it was sent.' },
  )
  if (lost.length > 0) log.warn({ count: lost.length }, 'deliveries of a dead worker were taken over')

  const doubtful = await listDoubtfulDeliveries(pool, BATCH)
  await settle(pool, doubtful, () => ({ outcome: 'resumed', reason: 'It was in doubt and is sent once more.' }))
}

async function settle(pool: Pool, strays: Stray[], decide: (stray: Stray) => Verdict): Promise<void> {
  if (strays.length === 0) return
  const results = strays.map(stray => {
    const { account_id, id, email_id, attempt, lease_owner } = stray
    return { ...decide(stray), account_id, id, email_id, attempt, lease_owner }
  })
  await settleDeliveries(pool, results)
}

/** Frees the jobs of worker pools that are gone. */
export async function sweepPools(pool: Pool, log: Log, after_seconds: number): Promise<void> {
  const pool_ids = await unlockDeadPools(pool, after_seconds)
  if (pool_ids.length > 0) log.warn({ pool_ids }, 'jobs of dead workers were unlocked')
}
