import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const Stray = z.object({
  account_id: z.string(),
  id: z.string(),
  email_id: z.string(),
  attempt: z.int(),
  lease_owner: z.string().nullable(),
})
export type Stray = z.infer<typeof Stray>

const LostDelivery = Stray.extend({
  phase: z.enum(['pre', 'dot']),
  /** Seconds since its lease expired. */
  expired_for: z.number(),
  is_campaign: z.boolean(),
})

const COLUMNS = sql.fragment`account_id, id, email_id, attempt, lease_owner`

/** Lists deliveries whose lease has expired. */
export async function listLostDeliveries(db: Queryable, limit: number): Promise<z.infer<typeof LostDelivery>[]> {
  return db.any(sql.type(LostDelivery)`
    SELECT ${COLUMNS}, phase, extract(epoch FROM now() - lease_until)::float8 AS expired_for,
      campaign_id IS NOT NULL AS is_campaign
    FROM deliveries
    WHERE state = 'sending' AND lease_until < now() ORDER BY lease_until LIMIT ${limit}
  `)
}

/** Lists deliveries in doubt that are due to be sent again. */
export async function listDoubtfulDeliveries(db: Queryable, limit: number): Promise<Stray[]> {
  return db.any(sql.type(Stray)`
    SELECT ${COLUMNS} FROM deliveries
    WHERE state = 'in_doubt' AND next_at <= now() ORDER BY next_at LIMIT ${limit}
  `)
}

export type Doubted = { account_id: string } & ({ email_id: string } | { campaign_id: string })

/** Lists deliveries in doubt of an email or a campaign, in the order of ids. */
export async function listDoubted(db: Queryable, of: Doubted, after: string | null, limit: number): Promise<Stray[]> {
  const which =
    'email_id' in of ? sql.fragment`d.email_id = ${of.email_id}` : sql.fragment`d.campaign_id = ${of.campaign_id}`
  const from = after === null ? sql.fragment`true` : sql.fragment`d.id > ${after}`
  return db.any(sql.type(Stray)`
    SELECT ${COLUMNS} FROM deliveries d
    WHERE d.account_id = ${of.account_id} AND ${which} AND d.state = 'in_doubt' AND ${from} ORDER BY d.id LIMIT ${limit}
  `)
}

/** Lists held deliveries of campaigns that were removed with their domain. */
export async function listOrphanedDoubts(db: Queryable, limit: number): Promise<Stray[]> {
  return db.any(sql.type(Stray)`
    SELECT ${COLUMNS} FROM deliveries d
    WHERE d.state = 'in_doubt' AND d.next_at IS NULL AND d.campaign_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM campaigns c WHERE c.account_id = d.account_id AND c.id = d.campaign_id)
    ORDER BY d.id LIMIT ${limit}
  `)
}

/**
 * Makes the deliveries of an email that wait for another attempt due now; returns how many. Deliveries that are paused
 * or scheduled for their first attempt are unchanged.
 */
export async function retryDeliveriesNow(db: Queryable, account_id: string, email_id: string): Promise<number> {
  return db.run(sql.unsafe`
    WITH waiting AS MATERIALIZED (
      SELECT id FROM deliveries
      WHERE email_id = ${email_id} AND account_id = ${account_id} AND state = 'queued' AND attempt > 0
        AND next_at > now() AND next_at < 'infinity'
      ORDER BY id FOR NO KEY UPDATE -- the order in which every transaction locks several deliveries
    )
    UPDATE deliveries d SET next_at = now(), updated_at = now()
    FROM waiting w WHERE d.account_id = ${account_id} AND d.id = w.id
  `)
}
