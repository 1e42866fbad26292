import { makeDomain, storeDomain } from '#flows/domains/create_domain.ts'
import { newId } from '#lib/ids.ts'
import type { Secrets } from '#lib/secrets.ts'
import { findAccount, insertAccount } from '#sql/accounts/accounts.ts'
import { type Pool, sqlState } from '#sql/pool.ts'
import { createApiKey } from './create_api_key.ts'

const DEFAULT_ACCOUNT = 'default'

const UNIQUE_VIOLATION = '23505'

/** Verified from the start, so that a first email can be sent, and received, before any DNS exists. */
export const SANDBOX_DOMAIN = 'sandbox.internal'

/**
 * Makes the account `default` with a sandbox domain, all of it or nothing. Answers its full-access key the first time,
 * afterwards null: whoever gets the key must be able to show it.
 */
export async function setUp(pool: Pool, secrets: Secrets): Promise<string | null> {
  if (await findAccount(pool, DEFAULT_ACCOUNT)) return null
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
    // Another start on the same database was faster.
    if (sqlState(error) === UNIQUE_VIOLATION && (await findAccount(pool, DEFAULT_ACCOUNT))) return null
    throw error
  }
}
