import type { Config } from '#lib/config.ts'
import type { Log } from '#lib/log.ts'
import type { DeliveryResult } from '#sql/delivery/deliveries.ts'
import { listDoubtfulDeliveries, listLostDeliveries, type Stray } from '#sql/delivery/stray_deliveries.ts'
import type { Pool } from '#sql/pool.ts'
import { settleStrays } from './decide_doubts.ts'
import { isHeld, RESEND_AFTER_SECONDS } from './decide_outcome.ts'
import { SENDER_TIMES } from './sender.ts'

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
          hold: isHeld(stray, config),
          // Since the last sign of life of its worker: until then there was no reply.
          age: SENDER_TIMES.lease_seconds + stray.expired_for,
        }
      : { outcome: 'lost', reason: 'Its worker died before it was sent.' },
  )
  if (lost > 0) log.warn({ count: lost }, 'deliveries of a dead worker were taken over')

  const reason = 'It was in doubt and is sent once more.'
  await sweep(pool, listDoubtfulDeliveries, () => ({ outcome: 'resumed', reason }))
}

/** Settles everything that `list` finds, in batches; returns how many were settled. */
async function sweep<Found extends Stray>(
  pool: Pool,
  list: (pool: Pool, limit: number) => Promise<Found[]>,
  decide: (stray: Found) => DeliveryResult,
): Promise<number> {
  for (let count = 0; ; ) {
    const strays = await list(pool, BATCH)
    const settled = await settleStrays(pool, strays, decide)
    count += settled
    if (strays.length < BATCH || settled === 0) return count
  }
}
