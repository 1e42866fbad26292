import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import { Domain, sendableStatuses } from './columns.ts'

/** `room`: how many emails its account may still receive by its quotas; null: no limit. */
const ReceivingDomain = Domain.pick({ id: true, account_id: true, name: true }).extend({ room: z.int().nullable() })
export type ReceivingDomain = z.infer<typeof ReceivingDomain>

/** Returns for which of these names an account receives mail. */
export async function listReceivingDomains(db: Queryable, names: string[]): Promise<ReceivingDomain[]> {
  return db.any(sql.prepared('list_receiving_domains', ReceivingDomain)`
    SELECT id, account_id, name, quota_room(account_id) AS room FROM domains
    WHERE name = ANY (${sql.array(names, 'text')}) AND receiving
      AND status IN ${sendableStatuses}
  `)
}

/** Returns true if a domain received mail under this name and is being verified again, as after enabling sending. */
export async function isVerifiedAgain(db: Queryable, name: string): Promise<boolean> {
  const { found } = await db.one(sql.prepared('is_verified_again', z.object({ found: z.boolean() }))`
    SELECT EXISTS (
      SELECT FROM domains WHERE name = ${name} AND receiving AND status = 'pending' AND verified_at IS NOT NULL
    ) AS found
  `)
  return found
}

/** Returns which of these names are domains of the account that can send. */
export async function listSendingDomains(db: Queryable, account_id: string, names: string[]): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ name: z.string() }))`
    SELECT name FROM domains WHERE account_id = ${account_id} AND name = ANY(${sql.array(names, 'text')})
      AND sending AND status IN ${sendableStatuses}
  `)
  return rows.map(row => row.name)
}
