import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import type { RunId } from '../sending/runs.ts'

type Campaign = Pick<RunId, 'account_id' | 'campaign_id'>

const Stopped = z.object({ account_id: z.string(), campaign_id: z.string(), run: z.int() })

/** Locks a run of a canceled or failed campaign; null if nothing of it is left or another worker has it. */
export async function lockStopped(tx: Tx, { account_id, campaign_id }: Campaign): Promise<RunId | null> {
  const [run = null] = await tx.any(sql.type(Stopped)`
    SELECT u.account_id, u.campaign_id, u.run FROM campaign_runs u
    JOIN campaigns g ON g.account_id = u.account_id AND g.id = u.campaign_id
    WHERE u.account_id = ${account_id} AND u.campaign_id = ${campaign_id} AND u.finished_at IS NULL
      AND g.status IN ('canceled', 'failed')
    ORDER BY u.run LIMIT 1 FOR SHARE OF g FOR NO KEY UPDATE OF u SKIP LOCKED
  `)
  return run
}

const Canceled = z.object({ variant: z.int(), count: z.int() })

/** Cancels at most `limit` recipients without an email; returns how many per variant. */
export async function cancelPending(
  tx: Tx,
  { account_id, campaign_id, run }: RunId,
  limit: number,
): Promise<z.infer<typeof Canceled>[]> {
  return tx.any(sql.type(Canceled)`
    -- Joined with all columns of the key: Postgres may believe that the run is small, and compare every row with every other.
    WITH mine AS MATERIALIZED (
      SELECT r.account_id, r.campaign_id, r.contact_id, r.run FROM campaign_recipients r
      WHERE r.account_id = ${account_id} AND r.campaign_id = ${campaign_id} AND r.run = ${run} AND r.state = 'p'
      ORDER BY r.due_at, r.contact_id LIMIT ${limit} FOR UPDATE
    ), canceled AS (
      UPDATE campaign_recipients r SET state = 'c' FROM mine
      WHERE r.account_id = mine.account_id AND r.campaign_id = mine.campaign_id AND r.contact_id = mine.contact_id
        AND r.run = mine.run
      RETURNING r.variant
    )
    SELECT variant, count(*) AS count FROM canceled GROUP BY variant
  `)
}

/**
 * Cancels at most `limit` queued deliveries of a stopped campaign (cancel_deliveries in settle_campaigns.sql); returns
 * how many.
 */
export async function cancelDeliveries(tx: Tx, { account_id, campaign_id }: Campaign, limit: number): Promise<number> {
  const { count } = await tx.one(sql.type(z.object({ count: z.int() }))`
    SELECT cancel_deliveries(${account_id}, ${campaign_id}, ${limit}) AS count
  `)
  return count
}

/**
 * Waits for results of a campaign that are being stored, and makes later ones wait until the transaction ends: they lock
 * the emails first (settle_deliveries.sql).
 */
export async function lockUnsettled(tx: Tx, { account_id, campaign_id }: Campaign): Promise<void> {
  await tx.run(sql.unsafe`
    SELECT FROM emails e WHERE e.account_id = ${account_id} AND e.id = ANY (ARRAY(
      SELECT d.email_id FROM deliveries d
      WHERE d.account_id = ${account_id} AND d.campaign_id = ${campaign_id} AND d.state IN ('sending', 'in_doubt')
    ))
    ORDER BY e.id FOR NO KEY UPDATE
  `)
}

/** Returns true if results of a stopped campaign are still to come: deferred deliveries must then be canceled too. */
export async function isBeingSent(tx: Tx, { account_id, campaign_id }: Campaign): Promise<boolean> {
  return tx.exists(sql.fragment`
    SELECT FROM deliveries d
    WHERE d.account_id = ${account_id} AND d.campaign_id = ${campaign_id} AND d.state IN ('queued', 'sending')
  `)
}
