import { TtlCache } from '#lib/async/ttl_cache.ts'
import type { Log } from '#lib/log.ts'
import { type DkimKey, loadDkimKey } from '#lib/mail/dkim.ts'
import type { Secrets } from '#lib/secrets.ts'
import { type DkimKeyRow, listSigningKeys, markDkimKey } from '#sql/domains/dkim_keys.ts'
import type { Pool } from '#sql/pool.ts'

/** Domains whose keys are cached: some kilobytes each. */
const REMEMBERED = 10_000

type Dependencies = { pool: Pool; secrets: Secrets; log: Log; keys_ms: number }

/**
 * Returns the keys that a domain signs with, RSA first; they are opened once per `keys_ms`. Throws if the domain has no
 * RSA key or that key cannot be opened: mail then waits, since unsigned it would only harm the domain. A missing
 * Ed25519 key does not stop mail. A retired key may be used for up to `keys_ms` more; its record stays published for
 * days.
 */
export function createDkimKeys(deps: Dependencies): (account_id: string, domain_id: string) => Promise<DkimKey[]> {
  const known = new TtlCache<Promise<DkimKey[]>>(REMEMBERED)

  return (account_id, domain_id) => {
    const remembered = known.get(domain_id)
    if (remembered) return remembered
    const keys = openKeys(deps, account_id, domain_id)
    known.set(domain_id, keys, deps.keys_ms)
    // A failure is not cached: the next message tries again.
    keys.catch(() => known.delete(domain_id))
    return keys
  }
}

async function openKeys({ pool, secrets, log }: Dependencies, account_id: string, domain_id: string) {
  const rows = await listSigningKeys(pool, account_id, domain_id)
  if (rows[0]?.algorithm !== 'rsa-sha256') throw new Error('Its domain has no signing key.')
  const keys: DkimKey[] = []
  for (const row of rows) {
    const key = openKey(row, secrets)
    const isUnusable = key instanceof Error
    if (isUnusable || row.is_unusable) await markDkimKey(pool, row, isUnusable)
    if (!isUnusable) keys.push(key)
    else if (row.algorithm === 'rsa-sha256') {
      throw new Error('The signing key of its domain cannot be used.', { cause: key })
    } else log.warn({ err: key, domain: row.domain, selector: row.selector }, 'a signing key cannot be used')
  }
  return keys
}

function openKey(row: DkimKeyRow, secrets: Secrets): DkimKey | Error {
  try {
    const private_key = loadDkimKey(secrets.open(row.private_key, dkimContext(row)))
    return { domain: row.domain, selector: row.selector, algorithm: row.algorithm, private_key }
  } catch (error) {
    return error as Error
  }
}

/**
 * Returns the context that a private key is sealed with: it names the row, so that the key cannot be opened in another.
 */
export function dkimContext(key: { id: string; account_id: string }): string {
  return `dkim_keys|private_key|${key.id}|${key.account_id}`
}
