import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'

/** `decide_at`: null until the last email of the test has been sent. */
const Decision = z.object({
  decide_at: z.date().nullable(),
  decided_variant: z.int().nullable(),
  decided_at: z.date().nullable(),
  decided_by: z.enum(['automatic', 'manual']).nullable(),
  decided_confidence: z.number().nullable(),
  is_finished: z.boolean(),
  /** Null for a run that ended before outcomes were stored. */
  outcome: z.enum(['sent', 'canceled', 'failed']).nullable(),
})
export type Decision = z.infer<typeof Decision>

/** Returns the decision of a campaign; null before it is sent. */
export async function findDecision(db: Queryable, { account_id, id }: CampaignId): Promise<Decision | null> {
  return db.maybeOne(sql.type(Decision)`
    SELECT decide_at, decided_variant, decided_at, decided_by, decided_confidence,
      finished_at IS NOT NULL AS is_finished, outcome FROM campaign_runs
    WHERE account_id = ${account_id} AND campaign_id = ${id} AND run = 1
  `)
}

/** Schedules the choice of the winner after the last email of the test has been sent. */
export async function setDecideAt(tx: Tx, { account_id, id }: CampaignId, hours: number): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaign_runs SET decide_at = now() + make_interval(hours => ${hours})
    WHERE account_id = ${account_id} AND campaign_id = ${id} AND run = 1
  `)
}

type Winner = { variant: number; by: 'automatic' | 'manual'; confidence: number }

/**
 * Stores the winner, which the rest of the recipients get: from this commit on those who wait are due. Returns false if
 * there is a decision already; of several at the same time only one takes effect.
 */
export async function decide(tx: Tx, { account_id, id }: CampaignId, winner: Winner): Promise<boolean> {
  const decided = await tx.run(sql.unsafe`
    UPDATE campaign_runs SET decided_variant = ${winner.variant}, decided_at = now(), decided_by = ${winner.by},
      decided_confidence = ${winner.confidence}
    WHERE account_id = ${account_id} AND campaign_id = ${id} AND run = 1 AND decided_variant IS NULL
      AND finished_at IS NULL
  `)
  if (decided === 0) return false
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'queued', updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id} AND status = 'testing'
  `)
  return true
}
