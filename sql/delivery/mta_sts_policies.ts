import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const MtaStsPolicy = z.object({
  policy_id: z.string(),
  mode: z.enum(['enforce', 'testing', 'none']),
  mx: z.array(z.string()),
  expires_at: z.date(),
})
export type MtaStsPolicy = z.infer<typeof MtaStsPolicy>

/** Returns the stored policy of a receiver, which may have expired. */
export async function findMtaStsPolicy(db: Queryable, domain: string): Promise<MtaStsPolicy | null> {
  return db.maybeOne(sql.type(MtaStsPolicy)`
    SELECT policy_id, mode, mx, expires_at FROM mta_sts_policies WHERE domain = ${domain}
  `)
}

export async function upsertMtaStsPolicy(db: Queryable, domain: string, policy: MtaStsPolicy): Promise<void> {
  const { policy_id, mode, mx, expires_at } = policy
  await db.run(sql.unsafe`
    INSERT INTO mta_sts_policies (domain, policy_id, mode, mx, expires_at)
    VALUES (${domain}, ${policy_id}, ${mode}, ${sql.array(mx, 'text')}, ${expires_at.toJSON()})
    ON CONFLICT (domain) DO UPDATE SET policy_id = excluded.policy_id, mode = excluded.mode, mx = excluded.mx,
      fetched_at = now(), expires_at = excluded.expires_at
  `)
}

export async function deleteExpiredMtaStsPolicies(db: Queryable): Promise<number> {
  return db.run(sql.unsafe`DELETE FROM mta_sts_policies WHERE expires_at < now()`)
}
