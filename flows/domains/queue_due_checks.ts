import { takeDomainsToCheck } from '#sql/domains/domain_verification.ts'
import { takeClaimsToCheck } from '#sql/domains/open_claims.ts'
import type { Pool } from '#sql/pool.ts'
import { LATER, queueClaims, queueVerification } from './add_check_jobs.ts'

/** Maximum number of checks per run; the rest is due again a minute later. */
const LIMIT = 500

/** Queues the checks of due domains; returns how many were due. */
export async function checkDueDomains(pool: Pool): Promise<number> {
  return pool.transaction(async tx => {
    const due = await takeDomainsToCheck(tx, LIMIT)
    await queueVerification(tx, due, LATER)
    return due.length
  })
}

/** Queues the checks of due claims; returns how many were due. */
export async function checkDueClaims(pool: Pool): Promise<number> {
  return pool.transaction(async tx => {
    const due = await takeClaimsToCheck(tx, LIMIT)
    await queueClaims(tx, due, LATER)
    return due.length
  })
}
