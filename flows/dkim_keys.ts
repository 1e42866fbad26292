import { type DkimKey, loadDkimKey } from '../lib/dkim.ts'
import type { Secrets } from '../lib/secrets.ts'
import { type DkimKeyRow, findDkimKey, markDkimKey } from '../sql/dkim_keys.ts'
import type { Pool } from '../sql/pool.ts'

/** A new key of a domain is used within this time. */
const REMEMBER_MS = 60_000

/**
 * The key a domain signs with, opened once a minute. Throws for a domain without one, or when it does not open: mail
 * waits then, since unsigned it would only harm the domain.
 */
export function createDkimKeys(
  pool: Pool,
  secrets: Secrets,
): (account_id: string, domain_id: string) => Promise<DkimKey> {
  const known = new Map<string, { key: Promise<DkimKey>; until: number }>()

  const open = async (account_id: string, domain_id: string): Promise<DkimKey> => {
    const row = await findDkimKey(pool, account_id, domain_id)
    if (!row) throw new Error('Its domain has no signing key.')
    const key = openKey(row, secrets)
    const isUnusable = key instanceof Error
    if (isUnusable || row.is_unusable) await markDkimKey(pool, row, isUnusable)
    if (isUnusable) throw new Error('The signing key of its domain cannot be used.', { cause: key })
    return key
  }

  return (account_id, domain_id) => {
    const now = performance.now()
    const remembered = known.get(domain_id)
    if (remembered && remembered.until > now) return remembered.key
    const key = open(account_id, domain_id)
    known.set(domain_id, { key, until: now + REMEMBER_MS })
    // A failure is not remembered: the next message asks again.
    key.catch(() => known.delete(domain_id))
    return key
  }
}

function openKey(row: DkimKeyRow, secrets: Secrets): DkimKey | Error {
  try {
    const private_key = loadDkimKey(secrets.open(row.private_key, dkimContext(row)))
    return { domain: row.domain, selector: row.selector, algorithm: row.algorithm, private_key }
  } catch (error) {
    return error as Error
  }
}

/** What a private key is sealed for (reliability of secrets at rest: the place is part of the seal). */
export function dkimContext(key: { id: string; account_id: string }): string {
  return `dkim_keys|private_key|${key.id}|${key.account_id}`
}
