import type { Config } from '#lib/config.ts'
import type { Log } from '#lib/log.ts'
import { listDoubtfulDeliveries, listLostDeliveries, type Stray, settleDeliveries } from '#sql/delivery/deliveries.ts'
import type { Pool } from '#sql/pool.ts'
import { RESEND_AFTER_SECONDS, type Verdict } from './decide_outcome.ts'

const BATCH = 500

/**
 * Moves on what a dead worker left: before the final dot it is safe to send again, after it the delivery is in doubt.
 * Resends what has been in doubt for long enough. Any number of processes may sweep at the same moment.
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

/** Settles all that are listed, a batch at a time; returns how many. */
async function sweep(
  pool: Pool,
  list: (pool: Pool, limit: number) => Promise<Stray[]>,
  decide: (stray: Stray) => Verdict,
): Promise<number> {
  for (let count = 0; ; ) {
    const strays = await list(pool, BATCH)
    const results = strays.map(stray => {
      const { account_id, id, email_id, attempt, lease_owner } = stray
      return { ...decide(stray), account_id, id, email_id, attempt, lease_owner }
    })
    const settled = results.length > 0 ? await settleDeliveries(pool, results) : []
    count += settled.length
    // Another sweep may settle the same ones at this moment; those are not counted.
    if (strays.length < BATCH || settled.length === 0) return count
  }
}
