import { domainToASCII } from 'node:url'
import { v7 as uuid } from 'uuid'
import { generateDkimKey } from '../lib/dkim.ts'
import { ApiError } from '../lib/errors.ts'
import type { Secrets } from '../lib/secrets.ts'
import { type Domain, findDomainByName, findVerifiedDomain, insertDkimKey, insertDomain } from '../sql/domains.ts'
import type { Pool } from '../sql/pool.ts'
import { dkimContext } from './dkim_keys.ts'

/** Longest name and label of RFC 1035 2.3.4, of at least two labels. */
const NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/**
 * Adds a sending domain with a DKIM key of its own. `isVerified` skips the proof by DNS: for operators.
 *
 * @throws {ApiError} `validation_error`: no domain name, or added before; `domain_conflict`: another account's
 */
export async function createDomain(
  pool: Pool,
  secrets: Secrets,
  { account_id, name, isVerified }: { account_id: string; name: string; isVerified: boolean },
): Promise<Domain> {
  const ascii = domainToASCII(name)
  if (!NAME.test(ascii)) throw new ApiError('validation_error', `${name} is not a domain name.`)
  if (await findDomainByName(pool, account_id, ascii)) {
    throw new ApiError('validation_error', `The domain ${ascii} was added before.`)
  }
  if (isVerified && (await findVerifiedDomain(pool, ascii))) {
    throw new ApiError('domain_conflict', `The domain ${ascii} is verified by another account.`)
  }

  const domain = { account_id, id: uuid(), name: ascii, status: isVerified ? 'verified' : 'not_started' }
  const key = { account_id, id: uuid(), domain_id: domain.id, selector: 'mb1', algorithm: 'rsa-sha256' as const }
  const { private_key, public_key } = await generateDkimKey(key.algorithm)
  const sealed = secrets.seal(private_key, dkimContext(key))
  await pool.transaction(async tx => {
    await insertDomain(tx, domain)
    await insertDkimKey(tx, { ...key, public_key, private_key: sealed })
  })
  return domain
}
