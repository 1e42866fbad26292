import { HourlyCap, RECIPIENT_CAP } from '#lib/async/fair/hourly_cap.ts'
import { type WriteBehind, writeBehind } from '#lib/async/write_behind.ts'
import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { splitOnRefusal } from '#sql/retry.ts'
import { recordHits, type TrackingHit } from '#sql/tracking/hits.ts'

/**
 * Interval between statements. A process that is killed loses the hits of this time, or of the current statement if
 * that takes longer, and of the next one.
 */
const INTERVAL_MS = 40
const MAX_ITEMS = 500

/** Maximum number of hits that wait while Postgres is unavailable. */
const MAX_WAITING = 50_000

/**
 * Records hits in batches in the background, so that no request waits for it. Hits wait while Postgres is unavailable;
 * beyond the limit they are dropped and counted in the log, as are more than 1,000 per delivery and hour.
 */
export function createRecordHits({ pool, log }: { pool: Pool; log: Log }): WriteBehind<TrackingHit> {
  // More are an attempt to fill the database; besides, each new hit reads all earlier ones of its delivery.
  const cap = new HourlyCap(RECIPIENT_CAP)
  const onDropped = (count: number, err?: unknown) => log.error({ count, err }, 'hits of tracked emails are lost')
  const rows = writeBehind<TrackingHit>(
    async hits => {
      const refused = (await splitOnRefusal<TrackingHit, null>(hits, each => record(pool, each))).filter(Boolean)
      if (refused.length > 0) onDropped(refused.length, refused[0])
    },
    {
      ...{ interval_ms: INTERVAL_MS, max_items: MAX_ITEMS, max_weight: MAX_ITEMS, max_waiting: MAX_WAITING },
      weigh: () => 1,
      onFailure: error => log.warn({ err: error }, 'hits of tracked emails cannot be recorded for now'),
      onDropped,
    },
  )
  const isTooMany = ({ delivery_id }: TrackingHit): boolean => {
    const surplus = cap.add(delivery_id)
    if (surplus === 1) log.warn({ delivery_id }, 'further hits of a delivery are not recorded')
    return surplus > 0
  }
  return {
    add: hit => {
      if (!isTooMany(hit)) rows.add(hit)
    },
    stop: () => rows.stop(),
  }
}

async function record(pool: Pool, hits: TrackingHit[]): Promise<null[]> {
  await recordHits(pool, hits)
  return hits.map(() => null)
}
