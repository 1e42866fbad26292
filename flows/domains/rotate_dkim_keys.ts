import type { Check } from '#lib/domains/check_record.ts'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import type { Secrets } from '#lib/secrets.ts'
import { insertDkimKeys } from '#sql/domains/dkim_keys.ts'
import {
  activateStagedKeys,
  deleteRetiredKeys,
  deleteStagedKeys,
  findKeyedDomain,
  type KeyOwner,
  listDomainsWithoutEd25519,
  markPublishedKeys,
  markStagedKeysPublished,
} from '#sql/domains/dkim_rotation.ts'
import { lockDomain } from '#sql/domains/domains.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { queueVerification } from './add_check_jobs.ts'
import { announceDomains } from './announce_domains.ts'
import { makeDkimKey, makeDkimKeys } from './create_domain.ts'

type Dependencies = { pool: Pool; secrets: Secrets; config: { SERVER_DOMAIN: string } }
type WithoutSecrets = Omit<Dependencies, 'secrets'>

/**
 * Stages new keys for a domain, unless staged keys already wait for their records. They sign once their records are in
 * DNS (`settleDkimKeys`). DNS is never checked for a trusted domain, so only the operator can confirm its records.
 *
 * @throws {ApiError} `not_found`; `validation_error` if it was never verified, or if it is trusted and its owner asks
 */
export async function rotateDkimKeys(
  { pool, secrets, config }: Dependencies,
  owner: KeyOwner,
  by: 'owner' | 'operator',
): Promise<void> {
  const domain = await findKeyedDomain(pool, owner)
  if (!domain) throw notFound('Domain')
  const { is_trusted, was_verified, is_rotating } = domain
  if (!was_verified) throw new ApiError('validation_error', 'The domain was never verified, so its DKIM keys are new.')
  if (is_trusted && by === 'owner') {
    throw new ApiError('validation_error', 'The operator of this server manages the DKIM keys of this domain.')
  }
  const generation = domain.generation + 1
  const keys = is_rotating ? [] : await makeDkimKeys(secrets, { ...owner, generation, state: 'staged' })
  await pool.transaction(async tx => {
    await lockDomain(tx, owner.account_id, owner.domain_id)
    const current = await findKeyedDomain(tx, owner)
    if (!current) throw notFound('Domain')
    // Otherwise another request has just staged keys.
    if (current.generation < generation && keys.length > 0) {
      await deleteStagedKeys(tx, owner)
      await insertDkimKeys(tx, keys)
      await announceKeys(tx, config, [owner])
    }
    if (!is_trusted) await queueVerification(tx, [{ account_id: owner.account_id, id: owner.domain_id }])
  })
}

/**
 * Applies the checks of a domain's records to its keys: staged keys whose records are published sign from now on. The
 * caller must have locked the domain. Returns true if other keys sign now.
 */
export async function settleDkimKeys(
  tx: Tx,
  owner: KeyOwner,
  checks: { record: DomainRecord; check: Check }[],
): Promise<boolean> {
  const seen = checks.flatMap(({ record: { record, name }, check: { status } }) =>
    // The state stays unchanged if DNS did not respond.
    record !== 'DKIM' || status === 'temporary_failure'
      ? []
      : [{ selector: name.slice(0, name.indexOf('.')), is_published: status === 'verified' }],
  )
  await markPublishedKeys(tx, owner, seen)
  return (await activateStagedKeys(tx, owner)) > 0
}

/**
 * Activates the staged keys of a trusted domain, whose records the operator has confirmed. Returns false if no key is
 * staged.
 */
export async function activateTrustedKeys({ pool, config }: WithoutSecrets, owner: KeyOwner): Promise<boolean> {
  return pool.transaction(async tx => {
    await lockDomain(tx, owner.account_id, owner.domain_id)
    await markStagedKeysPublished(tx, owner)
    if ((await activateStagedKeys(tx, owner)) === 0) return false
    await announceKeys(tx, config, [owner])
    return true
  })
}

/** Deletes keys that retired long ago; returns the number of domains. */
export async function purgeRetiredKeys({ pool, config }: WithoutSecrets): Promise<number> {
  return pool.transaction(async tx => {
    const owners = await deleteRetiredKeys(tx)
    await announceKeys(tx, config, owners)
    return owners.length
  })
}

/** Generates Ed25519 keys for domains that were added before these existed; returns the number of domains. */
export async function addEd25519Keys({ pool, secrets, config }: Dependencies, limit: number): Promise<number> {
  const lacking = await listDomainsWithoutEd25519(pool, limit)
  const keys = await Promise.all(lacking.map(owner => makeDkimKey(secrets, owner, 'ed25519-sha256')))
  await pool.transaction(async tx => {
    await insertDkimKeys(tx, keys)
    await announceKeys(tx, config, lacking)
  })
  return lacking.length
}

/** Announces domains whose keys have changed, since their records change too. */
async function announceKeys(tx: Tx, config: Dependencies['config'], owners: KeyOwner[]): Promise<void> {
  const ids = new Map(owners.map(({ account_id, domain_id: id }) => [id, { account_id, id }]))
  await announceDomains(tx, 'domain.updated', [...ids.values()], config.SERVER_DOMAIN)
}
