import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const Stray = z.object({
  account_id: z.string(),
  id: z.string(),
  email_id: z.string(),
  attempt: z.int(),
  lease_owner: z.string().nullable(),
  phase: z.enum(['pre', 'dot']).nullable(),
})
export type Stray = z.infer<typeof Stray>

/** Deliveries whose lease has run out. */
export async function listLostDeliveries(db: Queryable, limit: number): Promise<Stray[]> {
  return db.any(sql.type(Stray)`
    SELECT account_id, id, email_id, attempt, lease_owner, phase FROM deliveries
    WHERE state = 'sending' AND lease_until < now() ORDER BY lease_until LIMIT ${limit}
  `)
}

/** Deliveries in doubt that are due to be sent again. */
export async function listDoubtfulDeliveries(db: Queryable, limit: number): Promise<Stray[]> {
  return db.any(sql.type(Stray)`
    SELECT account_id, id, email_id, attempt, lease_owner, phase FROM deliveries
    WHERE state = 'in_doubt' AND next_at <= now() ORDER BY next_at LIMIT ${limit}
  `)
}
