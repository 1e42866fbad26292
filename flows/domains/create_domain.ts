import { findSettingsFault, readDomainName } from '#lib/domains/new_domain.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { type DkimAlgorithm, generateDkimKey } from '#lib/mail/dkim.ts'
import type { Secrets } from '#lib/secrets.ts'
import { insertDkimKeys, type NewDkimKey } from '#sql/domains/dkim_keys.ts'
import { findConflict, lockDomainRoom, lockNames } from '#sql/domains/domain_conflicts.ts'
import { findDomainByName, insertDomain, type NewDomainRow } from '#sql/domains/domains.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'
import { announceDomains } from './announce_domains.ts'
import { dkimContext } from './signing_keys.ts'

/**
 * `is_trusted`: skips the proof by DNS; for operators. `is_claimed`: it is added for a claim, so another account may
 * have verified it.
 */
export type NewDomain = Omit<NewDomainRow, 'id' | 'status'> & { is_trusted: boolean; is_claimed?: boolean }

type Dependencies = { pool: Pool; secrets: Secrets; config: { SERVER_DOMAIN: string } }

/**
 * Adds a sending domain with its own DKIM keys.
 *
 * @throws {ApiError} `validation_error` for an invalid domain name, a public suffix, invalid settings, or a domain that
 *   the account has already; `domain_conflict` if another account has it; `plan_limit_reached`
 */
export async function createDomain({ pool, secrets, config }: Dependencies, given: NewDomain): Promise<MadeDomain> {
  const read = readDomainName(given.name)
  if ('why' in read) throw new ApiError('validation_error', read.why)
  const domain = { ...given, name: read.name }
  const why = findSettingsFault(domain.name, settingsOf(domain))
  if (why) throw new ApiError('validation_error', why)

  await requireFree(pool, domain) // fails early, before keys are generated
  const made = await makeDomain(secrets, domain)
  await pool.transaction(async tx => {
    const { domains, limit } = await lockDomainRoom(tx, domain.account_id)
    if (domain.is_trusted) await lockNames(tx, domain.name)
    await requireFree(tx, domain)
    if (limit !== null && domains >= limit) throw planLimit(limit)
    await storeDomain(tx, made)
    await announceDomains(tx, 'domain.created', [made], config.SERVER_DOMAIN)
  })
  return made
}

/** @throws {ApiError} if it cannot be added */
async function requireFree(db: Queryable, { account_id, name, is_trusted, is_claimed }: NewDomain): Promise<void> {
  if (await findDomainByName(db, account_id, name)) {
    throw new ApiError('validation_error', `This account has the domain ${name} already.`)
  }
  const conflict = is_claimed ? null : await findConflict(db, account_id, name)
  if (!conflict) return
  if (!is_trusted) throw domainConflict(name)
  throw new ApiError('domain_conflict', `The domain ${conflict.name} is verified by another account.`)
}

/** The message does not say which of these names is taken: it must not reveal the subdomains of another account. */
export function domainConflict(name: string): ApiError {
  return new ApiError(
    'domain_conflict',
    `The domain ${name}, or one above or below it, is verified by another account. Prove that it is yours with POST /domains/claim.`,
  )
}

export function planLimit(limit: number): ApiError {
  return new ApiError('plan_limit_reached', `The plan of this account limits its domains to ${limit}.`)
}

function settingsOf(domain: NewDomain): Parameters<typeof findSettingsFault>[1] {
  const { sending = true, receiving = false, open_tracking = false, click_tracking = false } = domain
  const { tracking_subdomain = null, custom_return_path = 'send' } = domain
  const capabilities = { sending: capability(sending), receiving: capability(receiving) }
  return { capabilities, open_tracking, click_tracking, tracking_subdomain, custom_return_path }
}

function capability(is_enabled: boolean): 'enabled' | 'disabled' {
  return is_enabled ? 'enabled' : 'disabled'
}

export type MadeDomain = NewDomainRow & { dkim_keys: NewDkimKey[] }

/**
 * Generates the keys of a domain, which takes a moment: call it before the transaction, and `storeDomain` inside it.
 */
export async function makeDomain(secrets: Secrets, domain: NewDomain): Promise<MadeDomain> {
  const id = newId()
  const { is_claimed: _, ...row } = domain
  const { account_id, is_trusted } = domain
  const dkim_keys = await makeDkimKeys(secrets, { account_id, domain_id: id, generation: 1, is_published: is_trusted })
  return { ...row, id, status: is_trusted ? 'verified' : 'not_started', dkim_keys }
}

export async function storeDomain(tx: Tx, { dkim_keys, ...domain }: MadeDomain): Promise<void> {
  await insertDomain(tx, domain)
  await insertDkimKeys(tx, dkim_keys)
}

/** Suffixes of selectors: two keys at one selector would be invalid (RFC 6376 section 3.6.2.2). */
const suffixes: Record<DkimAlgorithm, string> = { 'rsa-sha256': '', 'ed25519-sha256': 'e' }

type KeyOwner = Pick<NewDkimKey, 'account_id' | 'domain_id' | 'state' | 'is_published'> & { generation: number }

/**
 * Generates a key of each algorithm (RFC 8463 section 3): receivers that support Ed25519 use that one, all others RSA.
 */
export async function makeDkimKeys(secrets: Secrets, owner: KeyOwner): Promise<NewDkimKey[]> {
  const algorithms = Object.keys(suffixes) as DkimAlgorithm[]
  return Promise.all(algorithms.map(algorithm => makeDkimKey(secrets, owner, algorithm)))
}

/** Returns a key to store; the private key is sealed. */
export async function makeDkimKey(secrets: Secrets, owner: KeyOwner, algorithm: DkimAlgorithm): Promise<NewDkimKey> {
  const key = { ...owner, id: newId(), selector: `mb${owner.generation}${suffixes[algorithm]}`, algorithm }
  const { private_key, public_key } = await generateDkimKey(algorithm)
  return { ...key, public_key, private_key: secrets.seal(private_key, dkimContext(key)) }
}
