import { asciiDomain } from '../lib/address.ts'
import { type DkimAlgorithm, generateDkimKey } from '../lib/dkim.ts'
import { ApiError } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import type { Secrets } from '../lib/secrets.ts'
import { insertDkimKey, type NewDkimKey } from '../sql/dkim_keys.ts'
import { findDomainByName, findVerifiedDomain, insertDomain, type NewDomainRow } from '../sql/domains.ts'
import type { Pool, Queryable } from '../sql/pool.ts'
import { dkimContext } from './dkim_keys.ts'

/** `is_trusted` skips the proof by DNS: for operators. */
export type NewDomain = Omit<NewDomainRow, 'id' | 'status'> & { is_trusted: boolean }

/**
 * Adds a sending domain with DKIM keys of its own.
 *
 * @throws {ApiError} `validation_error`: no domain name, or added before; `domain_conflict`: another account's
 */
export async function createDomain(pool: Pool, secrets: Secrets, domain: NewDomain): Promise<MadeDomain> {
  const { account_id, is_trusted } = domain
  const name = asciiDomain(domain.name)
  if (!name) throw new ApiError('validation_error', `${domain.name} is not a domain name.`)
  if (await findDomainByName(pool, account_id, name)) {
    throw new ApiError('validation_error', `The domain ${name} was added before.`)
  }
  if (is_trusted && (await findVerifiedDomain(pool, name))) {
    throw new ApiError('domain_conflict', `The domain ${name} is verified by another account.`)
  }

  const made = await makeDomain(secrets, { ...domain, name })
  await pool.transaction(tx => storeDomain(tx, made))
  return made
}

export type MadeDomain = NewDomainRow & { dkim_keys: NewDkimKey[] }

/** Its keys take a moment to make: this comes before a transaction, `storeDomain` in it. */
export async function makeDomain(secrets: Secrets, domain: NewDomain): Promise<MadeDomain> {
  const id = newId()
  const { account_id, is_trusted } = domain
  const dkim_keys = await makeDkimKeys(secrets, { account_id, domain_id: id, generation: 1, is_published: is_trusted })
  return { ...domain, id, status: is_trusted ? 'verified' : 'not_started', dkim_keys }
}

export async function storeDomain(tx: Queryable, { dkim_keys, ...domain }: MadeDomain): Promise<void> {
  await insertDomain(tx, domain)
  for (const key of dkim_keys) await insertDkimKey(tx, key)
}

/** What the selector of a key ends with: two keys at one selector would be no key (RFC 6376 section 3.6.2.2). */
const suffixes: Record<DkimAlgorithm, string> = { 'rsa-sha256': '', 'ed25519-sha256': 'e' }

type KeyOwner = Pick<NewDkimKey, 'account_id' | 'domain_id' | 'state' | 'is_published'> & { generation: number }

/** A key of each algorithm (RFC 8463 section 3): who knows Ed25519 takes that, everybody else RSA. */
export async function makeDkimKeys(secrets: Secrets, owner: KeyOwner): Promise<NewDkimKey[]> {
  const algorithms = Object.keys(suffixes) as DkimAlgorithm[]
  return Promise.all(algorithms.map(algorithm => makeDkimKey(secrets, owner, algorithm)))
}

/** To be stored: sealed. */
export async function makeDkimKey(secrets: Secrets, owner: KeyOwner, algorithm: DkimAlgorithm): Promise<NewDkimKey> {
  const key = { ...owner, id: newId(), selector: `mb${owner.generation}${suffixes[algorithm]}`, algorithm }
  const { private_key, public_key } = await generateDkimKey(algorithm)
  return { ...key, public_key, private_key: secrets.seal(private_key, dkimContext(key)) }
}
