import { z } from 'zod'
import { addJob } from '#sql/jobs.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** A paused party: a whole account, or one of its domains. */
export type Party = { account_id: string; domain_id: string | null }

/** `paused_by`: the cause, or the operator, who needs no cause. */
export type Pause = { paused_by: 'operator' | 'bounces' | 'complaints'; reason: string | null }

/** Pauses a party: no mail of it is accepted or claimed. Returns true if it was not paused before. */
export async function pauseParty(db: Queryable, party: Party, { paused_by, reason }: Pause): Promise<boolean> {
  const { table, where } = rowOf(party)
  const { is_new } = await db.one(sql.type(z.object({ is_new: z.boolean() }))`
    UPDATE ${table} SET paused_at = coalesce(paused_at, now()), paused_by = ${paused_by}, pause_reason = ${reason}
    WHERE ${where} RETURNING paused_at = now() AS is_new
  `)
  return is_new
}

/** Resumes a party, and adds the job that makes its waiting mail due. Earlier mail does not count against it again. */
export async function resumeParty(tx: Tx, party: Party): Promise<void> {
  const { table, where } = rowOf(party)
  await tx.run(sql.unsafe`
    UPDATE ${table} SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, resumed_at = now() WHERE ${where}
  `)
  await addJob(tx, 'release_deliveries', {})
}

function rowOf({ account_id, domain_id }: Party) {
  return domain_id === null
    ? { table: sql.identifier(['accounts']), where: sql.fragment`id = ${account_id}` }
    : { table: sql.identifier(['domains']), where: sql.fragment`account_id = ${account_id} AND id = ${domain_id}` }
}

const PausedParty = z.object({
  account: z.string(),
  domain: z.string().nullable(),
  paused_at: z.date(),
  paused_by: z.string(),
  pause_reason: z.string().nullable(),
})
export type PausedParty = z.infer<typeof PausedParty>

/** Lists the pauses of all accounts for the operator, latest first. */
export async function listPaused(db: Queryable, limit: number): Promise<PausedParty[]> {
  return db.any(sql.type(PausedParty)`
    SELECT name AS account, NULL AS domain, paused_at, paused_by, pause_reason FROM accounts WHERE paused_at IS NOT NULL
    UNION ALL
    SELECT a.name, d.name, d.paused_at, d.paused_by, d.pause_reason
    FROM domains d JOIN accounts a ON a.id = d.account_id WHERE d.paused_at IS NOT NULL
    ORDER BY paused_at DESC LIMIT ${limit}
  `)
}

/** Lists the pauses of an account and its domains. */
export async function listPausesOf(db: Queryable, account_id: string): Promise<PausedParty[]> {
  return db.any(sql.type(PausedParty)`
    SELECT name AS account, NULL AS domain, paused_at, paused_by, pause_reason FROM accounts
    WHERE id = ${account_id} AND paused_at IS NOT NULL
    UNION ALL
    SELECT a.name, d.name, d.paused_at, d.paused_by, d.pause_reason
    FROM domains d JOIN accounts a ON a.id = d.account_id WHERE a.id = ${account_id} AND d.paused_at IS NOT NULL
    ORDER BY paused_at DESC LIMIT 20
  `)
}

/** Makes at most `limit` deliveries whose pause is over due; returns how many, fewer than `limit` if none are left. */
export async function releaseDeliveries(db: Queryable, limit: number): Promise<number> {
  const { released } = await db.one(sql.type(z.object({ released: z.int() }))`
    SELECT release_deliveries(${limit}) AS released
  `)
  return released
}
