import { now } from '#lib/clock.ts'
import { checkRecords, recordStatesOf } from '#lib/domains/check_records.ts'
import { domainRecords } from '#lib/domains/domain_records.ts'
import { CLAIM_PREFIX } from '#lib/domains/new_domain_claim.ts'
import type { Log } from '#lib/log.ts'
import type { Answer, Dns } from '#lib/net/dns.ts'
import type { Secrets } from '#lib/secrets.ts'
import { findKeyGeneration, listDkimKeys } from '#sql/domains/dkim_keys.ts'
import type { BlockedReason } from '#sql/domains/domain_claims.ts'
import { lockNames } from '#sql/domains/domain_conflicts.ts'
import { findDomainToVerify } from '#sql/domains/domain_verification.ts'
import { findNameOwner, findOwnerActivity, lockNameOwner, type NameOwner } from '#sql/domains/name_owners.ts'
import {
  closeClaim,
  findOpenClaim,
  lockOpenClaim,
  markClaimProven,
  markClaimUnproven,
  type OpenClaim,
} from '#sql/domains/open_claims.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'
import { completeClaim, type HandoverKeys } from './complete_claim.ts'
import { makeDkimKeys } from './create_domain.ts'

type Dependencies = { pool: Pool; dns: Dns; log: Log; secrets: Secrets; server_domain: string }

/**
 * Checks the proof of a claim in DNS, and hands the name over if nothing blocks that. A block lasts at
 * most 72 hours, since the proof is newer than the other account's.
 */
export async function checkClaim(deps: Dependencies, account_id: string, claim_id: string): Promise<void> {
  const { pool, dns } = deps
  const claim = await findOpenClaim(pool, account_id, claim_id)
  if (!claim) return // deleted, or settled meanwhile
  const isExpired = claim.status === 'pending' && claim.is_expired
  const answer: Answer<string> = isExpired ? { outcome: 'none', exists: false } : await dns.txt(claim.name)
  if (answer.outcome === 'failed') return // DNS did not respond; it is due again soon
  const isProven = answer.outcome === 'found' && answer.records.some(text => text.trim() === CLAIM_PREFIX + claim.token)
  await (isProven ? settleProven(deps, claim) : pool.transaction(tx => settleUnproven(tx, claim)))
}

async function settleUnproven(tx: Tx, claim: OpenClaim): Promise<void> {
  const locked = await lockOpenClaim(tx, claim)
  if (!locked) return
  if (locked.is_expired) await closeClaim(tx, locked, 'expired')
  else if (locked.status !== 'pending') await markClaimUnproven(tx, locked)
}

async function settleProven(deps: Dependencies, claim: OpenClaim): Promise<void> {
  const { pool, log, server_domain } = deps
  const { account_id, domain_id, name } = claim
  const owner = await findNameOwner(pool, name)
  const isOwnerPublished = owner !== null && !claim.is_overdue && (await isPublished(deps, owner))
  // Keys take a moment to generate, so not inside a transaction, and not on each check while the claim is blocked.
  const isBlocked = (await whyBlocked(pool, claim, owner, isOwnerPublished)) !== null
  const keys = isBlocked ? null : await makeKeys(deps, claim, owner)

  const outcome = await pool.transaction(async tx => {
    await lockNames(tx, name)
    const locked = await lockOpenClaim(tx, claim)
    if (!locked) return null
    const owner = await lockNameOwner(tx, name)
    if (owner?.account_id === account_id) return closeClaim(tx, locked, 'completed').then(() => 'completed')
    if (owner?.is_trusted) return closeClaim(tx, locked, 'failed', VOUCHED).then(() => 'failed')
    const reason = await whyBlocked(tx, locked, owner, isOwnerPublished)
    // If the owner has changed meanwhile, the keys are for the wrong one: the next check generates them.
    if (!reason && keys && keys.of === owner?.id) {
      await completeClaim(tx, locked, owner, keys, server_domain)
      return 'completed'
    }
    await markClaimProven(tx, locked, reason)
    return reason ?? 'verified'
  })
  if (outcome) log.info({ account_id, domain_id, name, from: owner?.account_id, outcome }, 'a claim was proven')
}

/**
 * Generates keys for both domains, at selectors that neither has used: so the published records still verify mail on
 * its way, and nothing else. The other account must publish again to get its domain back.
 */
async function makeKeys(
  { pool, secrets }: Dependencies,
  claim: OpenClaim,
  owner: NameOwner | null,
): Promise<HandoverKeys> {
  const parties = [{ ...claim, id: claim.domain_id }, ...(owner ? [owner] : [])]
  const used = await Promise.all(parties.map(({ account_id, id }) => findKeyGeneration(pool, account_id, id)))
  const first = 1 + Math.max(...used)
  const made = parties.map(({ account_id, id: domain_id }, n) =>
    makeDkimKeys(secrets, { account_id, domain_id, generation: first + n, is_published: false }),
  )
  return { of: owner?.id, keys: (await Promise.all(made)).flat() }
}

const VOUCHED = 'The operator vouches for the other account.'

async function whyBlocked(
  db: Queryable,
  claim: OpenClaim,
  owner: NameOwner | null,
  isOwnerPublished: boolean,
): Promise<BlockedReason | null> {
  if (!owner || claim.is_overdue) return null
  const { has_scheduled, has_sent } = await findOwnerActivity(db, owner, now())
  if (has_scheduled) return 'pending_scheduled_emails'
  if (has_sent) return 'recent_owner_activity'
  return isOwnerPublished ? 'grace_period' : null
}

/** Returns true if the other account's records are still published, as far as DNS tells. */
async function isPublished({ pool, dns, server_domain }: Dependencies, owner: NameOwner): Promise<boolean> {
  const domain = await findDomainToVerify(pool, owner.account_id, owner.id)
  if (!domain) return false
  const keys = await listDkimKeys(pool, owner.account_id, owner.id)
  const checked = await checkRecords(dns, domainRecords(domain, keys, server_domain))
  return recordStatesOf(checked).required !== 'gone'
}
