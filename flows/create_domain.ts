import { domainToASCII } from 'node:url'
import { generateDkimKey } from '../lib/dkim.ts'
import { ApiError } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import type { Secrets } from '../lib/secrets.ts'
import {
  type Domain,
  findDomainByName,
  findVerifiedDomain,
  insertDkimKey,
  insertDomain,
  type NewDkimKey,
} from '../sql/domains.ts'
import type { Pool, Queryable } from '../sql/pool.ts'
import { dkimContext } from './dkim_keys.ts'

/** Longest name and label of RFC 1035 2.3.4, of at least two labels. */
const NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/** `isVerified` skips the proof by DNS: for operators. */
export type NewDomain = { account_id: string; name: string; isVerified: boolean }

/**
 * Adds a sending domain with a DKIM key of its own.
 *
 * @throws {ApiError} `validation_error`: no domain name, or added before; `domain_conflict`: another account's
 */
export async function createDomain(pool: Pool, secrets: Secrets, domain: NewDomain): Promise<MadeDomain> {
  const { account_id, isVerified } = domain
  const name = domainToASCII(domain.name)
  if (!NAME.test(name)) throw new ApiError('validation_error', `${domain.name} is not a domain name.`)
  if (await findDomainByName(pool, account_id, name)) {
    throw new ApiError('validation_error', `The domain ${name} was added before.`)
  }
  if (isVerified && (await findVerifiedDomain(pool, name))) {
    throw new ApiError('domain_conflict', `The domain ${name} is verified by another account.`)
  }

  const made = await makeDomain(secrets, { account_id, name, isVerified })
  await pool.transaction(tx => storeDomain(tx, made))
  return made
}

export type MadeDomain = Domain & { dkim_key: NewDkimKey }

/** Its key takes a moment to make: this comes before a transaction, `storeDomain` in it. */
export async function makeDomain(secrets: Secrets, { account_id, name, isVerified }: NewDomain): Promise<MadeDomain> {
  const domain = { account_id, id: newId(), name, status: isVerified ? 'verified' : 'not_started' }
  const key = { account_id, id: newId(), domain_id: domain.id, selector: 'mb1', algorithm: 'rsa-sha256' as const }
  const { private_key, public_key } = await generateDkimKey(key.algorithm)
  const sealed = secrets.seal(private_key, dkimContext(key))
  return { ...domain, dkim_key: { ...key, public_key, private_key: sealed } }
}

export async function storeDomain(tx: Queryable, { dkim_key, ...domain }: MadeDomain): Promise<void> {
  await insertDomain(tx, domain)
  await insertDkimKey(tx, dkim_key)
}
