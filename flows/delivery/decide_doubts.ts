import { type DeliveryResult, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { type Doubted, listDoubted } from '#sql/delivery/stray_deliveries.ts'
import type { Pool } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'

/** Decisions about mail in doubt: send it again, treat it as delivered, or treat it as lost. */
export const DOUBT_ACTIONS = ['retry', 'release', 'drop'] as const
export type DoubtAction = (typeof DOUBT_ACTIONS)[number]

const RESULTS: Record<DoubtAction, DeliveryResult> = {
  retry: { outcome: 'resumed', reason: 'It was in doubt and is sent once more.' },
  release: { outcome: 'delivered', via: 'person' },
  drop: { outcome: 'failed', reason: 'It was in doubt, and a person gave it up.' },
}

const BATCH = 500

/** Settles all deliveries in doubt of an email or a campaign; returns how many. */
export async function decideDoubts(pool: Pool, of: Doubted, action: DoubtAction): Promise<number> {
  let count = 0
  for (let after: string | null = null; ; ) {
    const found = await listDoubted(pool, of, after, BATCH)
    const results = found.map(stray => ({ ...RESULTS[action], ...stray }))
    if (results.length > 0) count += (await retryConflicts(() => settleDeliveries(pool, results))).length
    if (found.length < BATCH) return count
    after = found.at(-1)?.id ?? null
  }
}
