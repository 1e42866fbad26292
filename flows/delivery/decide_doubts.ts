import { type DeliveryResult, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { type Doubted, listDoubted, listOrphanedDoubts, type Stray } from '#sql/delivery/stray_deliveries.ts'
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
    count += await settleStrays(pool, found, () => RESULTS[action])
    if (found.length < BATCH) return count
    after = found.at(-1)?.id ?? null
  }
}

/**
 * Gives up at most `limit` held deliveries of campaigns that were removed with their domain: nobody can decide about them all at
 * once any more, and they cannot be sent. Returns how many.
 */
export async function giveUpOrphanedDoubts(pool: Pool, limit: number): Promise<number> {
  const reason = 'It was in doubt when its domain was deleted.'
  return settleStrays(pool, await listOrphanedDoubts(pool, limit), () => ({ outcome: 'failed', reason }))
}

/** Settles deliveries that no worker holds; returns how many, without those that another process has settled meanwhile. */
export async function settleStrays<Found extends Stray>(
  pool: Pool,
  strays: Found[],
  decide: (stray: Found) => DeliveryResult,
): Promise<number> {
  if (strays.length === 0) return 0
  const results = strays.map(stray => {
    const { account_id, id, email_id, attempt, lease_owner } = stray
    return { ...decide(stray), account_id, id, email_id, attempt, lease_owner }
  })
  return (await retryConflicts(() => settleDeliveries(pool, results))).length
}
