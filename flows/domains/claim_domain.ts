import { randomBytes } from 'node:crypto'
import { now } from '#lib/clock.ts'
import { readDomainName } from '#lib/domains/new_domain.ts'
import type { NewDomainClaim } from '#lib/domains/new_domain_claim.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import type { Secrets } from '#lib/secrets.ts'
import {
  type DomainClaim,
  expireClaims,
  findDomainClaim,
  insertDomainClaim,
  isOpenClaim,
} from '#sql/domains/domain_claims.ts'
import { findConflict, lockNames } from '#sql/domains/domain_conflicts.ts'
import { findDomainByName } from '#sql/domains/domains.ts'
import { findNameOwner } from '#sql/domains/name_owners.ts'
import type { Pool, Queryable } from '#sql/pool.ts'
import { refuseDeletedDomain } from '#sql/retry.ts'
import { createDomain } from './create_domain.ts'

type Dependencies = { pool: Pool; secrets: Secrets; config: { SERVER_DOMAIN: string } }

/**
 * Claims a name that another account has verified; an account has at most one open claim per name. The domain for it is
 * added, or an existing unverified one is used with its settings unchanged.
 *
 * @throws {ApiError} `validation_error` if nobody has verified it, or this account has; `domain_conflict` if it cannot
 *   be claimed; 404 if the domain is deleted meanwhile
 */
export async function claimDomain(
  deps: Dependencies,
  account_id: string,
  fields: NewDomainClaim,
): Promise<{ claim: DomainClaim; is_new: boolean }> {
  const read = readDomainName(fields.name)
  if ('why' in read) throw new ApiError('validation_error', read.why)
  const { name } = read
  const { pool } = deps
  const open = await findUnownedClaim(pool, account_id, name)
  if (open) return { claim: open, is_new: false }
  await requireClaimable(pool, account_id, name)
  const { id: domain_id } = await findOrCreate(deps, account_id, { ...fields, name })

  const claimed = pool.transaction(async tx => {
    await lockNames(tx, name)
    await requireClaimable(tx, account_id, name)
    await expireClaims(tx, account_id, domain_id)
    const before = await findDomainClaim(tx, account_id, domain_id)
    if (before && isOpenClaim(before)) return { claim: before, is_new: false }
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    await insertDomainClaim(tx, { account_id, id: newId(), domain_id, token })
    return { claim: (await findDomainClaim(tx, account_id, domain_id)) as DomainClaim, is_new: true }
  })
  return claimed.catch(refuseDeletedDomain)
}

const TOKEN_BYTES = 32

/** Returns the open claim of an account for a name that nobody has verified any more; it can still be completed. */
async function findUnownedClaim(db: Queryable, account_id: string, name: string): Promise<DomainClaim | null> {
  const domain = await findDomainByName(db, account_id, name)
  const claim = domain && (await findDomainClaim(db, account_id, domain.id))
  if (!claim || !isOpenClaim(claim) || (claim.status === 'pending' && claim.expires_at <= now())) return null
  return (await findNameOwner(db, name)) ? null : claim
}

async function requireClaimable(db: Queryable, account_id: string, name: string): Promise<void> {
  const owner = await findNameOwner(db, name)
  if (owner?.account_id === account_id) {
    throw new ApiError('validation_error', `This account has verified the domain ${name} already.`)
  }
  if (owner?.is_trusted) {
    throw new ApiError('domain_conflict', `The domain ${name} belongs to another account and cannot be claimed.`)
  }
  if (owner) return
  if (await findConflict(db, account_id, name)) {
    throw new ApiError(
      'domain_conflict',
      `Another account has verified a domain above or below ${name}: claim that one.`,
    )
  }
  throw new ApiError('validation_error', `Nobody has verified the domain ${name}: add it with POST /domains.`)
}

type Found = { id: string }

async function findOrCreate(deps: Dependencies, account_id: string, fields: NewDomainClaim): Promise<Found> {
  const find = () => findDomainByName(deps.pool, account_id, fields.name)
  const before = await find()
  if (before) return before
  try {
    return await createDomain(deps, { ...fields, account_id, is_trusted: false, is_claimed: true })
  } catch (error) {
    const other = await find() // added meanwhile by another request
    if (other) return other
    throw error
  }
}
