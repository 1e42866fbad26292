import { makeDomain, storeDomain } from '#flows/domains/create_domain.ts'
import { newId } from '#lib/ids.ts'
import type { Secrets } from '#lib/secrets.ts'
import { findAccount, findFirstAccount, insertAccount } from '#sql/accounts/accounts.ts'
import type { Pool } from '#sql/pool.ts'
import { isDuplicate } from '#sql/retry.ts'
import { createApiKey } from './create_api_key.ts'

const DEFAULT_ACCOUNT = 'default'

/** Verified from the start, so that a first email can be sent, and received, before any DNS exists. */
export const SANDBOX_DOMAIN = 'sandbox.internal'

/**
 * Creates the account `default` with a sandbox domain in one transaction, unless there are accounts. Returns its full-access
 * key the first time and null afterwards. The caller must show the key, since it cannot be read again.
 */
export async function setUp(pool: Pool, secrets: Secrets): Promise<string | null> {
  if (await findFirstAccount(pool)) return null
  const account = { id: newId(), name: DEFAULT_ACCOUNT, plan: 'unlimited' }
  const domain = await makeDomain(secrets, {
    account_id: account.id,
    name: SANDBOX_DOMAIN,
    is_trusted: true,
    receiving: true,
  })
  const key = { account_id: account.id, name: 'first key', permission: 'full_access' } as const
  try {
    return await pool.transaction(async tx => {
      await insertAccount(tx, account)
      await storeDomain(tx, domain)
      return createApiKey(tx, secrets, { ...key, domain_id: null, expires_at: null })
    })
  } catch (error) {
    // Another process has set up the same database first.
    if (isDuplicate(error) && (await findAccount(pool, DEFAULT_ACCOUNT))) return null
    throw error
  }
}
