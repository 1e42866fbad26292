import type { Check } from '../lib/check_record.ts'
import type { DomainRecord } from '../lib/domain_records.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import type { Secrets } from '../lib/secrets.ts'
import { insertDkimKeys } from '../sql/dkim_keys.ts'
import {
  activateStagedKeys,
  deleteStagedKeys,
  findKeyedDomain,
  type KeyOwner,
  markPublishedKeys,
  markStagedKeysPublished,
} from '../sql/dkim_rotation.ts'
import { lockDomain } from '../sql/domains.ts'
import type { Pool, Queryable } from '../sql/pool.ts'
import { makeDkimKeys } from './create_domain.ts'
import { queueVerification } from './queue_checks.ts'

/**
 * Stages new keys for a domain, unless there are some that wait for their records. They sign once DNS has these
 * (`settleDkimKeys`). For a domain that is trusted DNS is never asked, so that the operator alone can tell.
 *
 * @throws {ApiError} `not_found`; `validation_error`: it was never verified, or is trusted and its owner asks
 */
export async function rotateDkimKeys(
  pool: Pool,
  secrets: Secrets,
  owner: KeyOwner,
  by: 'owner' | 'operator',
): Promise<void> {
  const domain = await findKeyedDomain(pool, owner)
  if (!domain) throw notFound('Domain')
  const { is_trusted, was_verified, is_rotating } = domain
  if (!was_verified) throw new ApiError('validation_error', 'The domain was never verified: its DKIM keys are new.')
  if (is_trusted && by === 'owner') {
    throw new ApiError(
      'validation_error',
      'DNS is not asked about this domain: its DKIM keys are changed by the operator.',
    )
  }
  const generation = domain.generation + 1
  const keys = is_rotating ? [] : await makeDkimKeys(secrets, { ...owner, generation, state: 'staged' })
  await pool.transaction(async tx => {
    await lockDomain(tx, owner.account_id, owner.domain_id)
    const current = await findKeyedDomain(tx, owner)
    if (!current) throw notFound('Domain')
    // Else somebody was faster, and those keys are as new.
    if (current.generation < generation && keys.length > 0) {
      await deleteStagedKeys(tx, owner)
      await insertDkimKeys(tx, keys)
    }
    if (!is_trusted) await queueVerification(tx, [{ account_id: owner.account_id, id: owner.domain_id }])
  })
}

/**
 * What was found of the records of a domain, for its keys: staged ones sign from now on whose record is there. Whoever
 * calls has locked the domain.
 */
export async function settleDkimKeys(
  tx: Queryable,
  owner: KeyOwner,
  checks: { record: DomainRecord; check: Check }[],
): Promise<void> {
  const seen = checks.flatMap(({ record: { record, name }, check: { status } }) =>
    // Where nobody could say, it is as it was.
    record !== 'DKIM' || status === 'temporary_failure'
      ? []
      : [{ selector: name.slice(0, name.indexOf('.')), is_published: status === 'verified' }],
  )
  await markPublishedKeys(tx, owner, seen)
  await activateStagedKeys(tx, owner)
}

/** The operator says that the records of the staged keys are there. False: none is staged. */
export async function activateTrustedKeys(pool: Pool, owner: KeyOwner): Promise<boolean> {
  return pool.transaction(async tx => {
    await lockDomain(tx, owner.account_id, owner.domain_id)
    await markStagedKeysPublished(tx, owner)
    return (await activateStagedKeys(tx, owner)) > 0
  })
}
