import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { type BlockedReason, ClaimStatus } from './domain_claims.ts'
import { lockDomain } from './domains.ts'

const isOpen = sql.fragment`c.status IN ('pending', 'verified', 'blocked')`

/** Fields of a claim that settling it needs. `is_expired`: its time is over, even if the status does not say so yet. */
export const OpenClaim = z.object({
  account_id: z.string(),
  id: z.string(),
  domain_id: z.string(),
  name: z.string(),
  token: z.string(),
  status: ClaimStatus,
  is_expired: z.boolean(),
  /** True if it was proven so long ago that nothing blocks it any more. */
  is_overdue: z.boolean(),
})
export type OpenClaim = z.infer<typeof OpenClaim>

/** Longest time that a proven claim can be blocked. */
const blockedAtMost = sql.fragment`interval '72 hours'`

const claimColumns = sql.fragment`
  c.account_id, c.id, c.domain_id, d.name, c.token, c.status, c.expires_at <= now() AS is_expired,
  coalesce(c.proven_at <= now() - ${blockedAtMost}, false) AS is_overdue
`

export async function findOpenClaim(db: Queryable, account_id: string, id: string): Promise<OpenClaim | null> {
  return db.maybeOne(sql.type(OpenClaim)`
    SELECT ${claimColumns} FROM domain_claims c JOIN domains d ON d.account_id = c.account_id AND d.id = c.domain_id
    WHERE c.account_id = ${account_id} AND c.id = ${id} AND ${isOpen}
  `)
}

/** Locks a claim after its domain, in the same order as the deletion of a domain. */
export async function lockOpenClaim(tx: Tx, { account_id, id, domain_id }: OpenClaim): Promise<OpenClaim | null> {
  await lockDomain(tx, account_id, domain_id)
  return tx.maybeOne(sql.type(OpenClaim)`
    SELECT ${claimColumns} FROM domain_claims c JOIN domains d ON d.account_id = c.account_id AND d.id = c.domain_id
    WHERE c.account_id = ${account_id} AND c.id = ${id} AND ${isOpen} FOR NO KEY UPDATE OF c
  `)
}

type ClaimKey = { account_id: string; id: string }

/** Marks a claim as proven, with the reason if it is blocked. It is checked again at most 72 hours after its proof. */
export async function markClaimProven(
  tx: Tx,
  { account_id, id }: ClaimKey,
  blocked_reason: BlockedReason | null,
): Promise<void> {
  const status = blocked_reason ? 'blocked' : 'verified'
  await tx.run(sql.unsafe`
    UPDATE domain_claims SET status = ${status}, blocked_reason = ${blocked_reason},
      proven_at = coalesce(proven_at, now()),
      check_at = least(now() + interval '15 minutes', coalesce(proven_at, now()) + ${blockedAtMost})
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Marks a claim as unproven because its record does not exist (any more): its proof starts again. */
export async function markClaimUnproven(tx: Tx, { account_id, id }: ClaimKey): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domain_claims SET status = 'pending', blocked_reason = NULL, proven_at = NULL,
      check_at = now() + interval '5 minutes'
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

export async function closeClaim(
  tx: Tx,
  { account_id, id }: ClaimKey,
  status: 'completed' | 'expired' | 'failed',
  failure_reason: string | null = null,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domain_claims SET status = ${status}, failure_reason = ${failure_reason}, blocked_reason = NULL, check_at = NULL
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Closes the claims of other accounts for a name that this account now has. */
export async function supersedeClaims(tx: Tx, { account_id, name }: OpenClaim): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domain_claims c SET status = 'superseded', blocked_reason = NULL, check_at = NULL
    FROM domains d
    WHERE d.account_id = c.account_id AND d.id = c.domain_id AND d.name = ${name}
      AND c.account_id <> ${account_id} AND ${isOpen}
  `)
}

const ClaimId = z.object({ account_id: z.string(), id: z.string() })

/**
 * Takes claims whose check is due, once for all workers. A proven one is due again after 15 minutes, others after 5.
 */
export async function takeClaimsToCheck(tx: Tx, limit: number): Promise<z.infer<typeof ClaimId>[]> {
  return tx.any(sql.type(ClaimId)`
    WITH due AS MATERIALIZED (
      SELECT account_id, id FROM domain_claims WHERE check_at <= now()
      ORDER BY check_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE domain_claims c
    SET check_at = now() + CASE WHEN proven_at IS NULL THEN interval '5 minutes' ELSE interval '15 minutes' END
    FROM due WHERE c.account_id = due.account_id AND c.id = due.id RETURNING c.account_id, c.id
  `)
}
