import { v7 as uuid } from 'uuid'
import type { Secrets } from '../lib/secrets.ts'
import { findAccount, insertAccount } from '../sql/accounts.ts'
import type { Pool } from '../sql/pool.ts'
import { createApiKey } from './create_api_key.ts'
import { createDomain } from './create_domain.ts'

export const DEFAULT_ACCOUNT = 'default'

/** Verified from the start, so that a first email can be sent before any DNS exists. */
export const SANDBOX_DOMAIN = 'sandbox.internal'

/** Makes the account `default` with a sandbox domain. Answers its full-access key the first time, afterwards null. */
export async function setUp(pool: Pool, secrets: Secrets): Promise<string | null> {
  if (await findAccount(pool, DEFAULT_ACCOUNT)) return null
  const account = { id: uuid(), name: DEFAULT_ACCOUNT, plan: 'unlimited' }
  await insertAccount(pool, account)
  await createDomain(pool, secrets, { account_id: account.id, name: SANDBOX_DOMAIN, isVerified: true })
  return createApiKey(pool, secrets, {
    account_id: account.id,
    name: 'first key',
    permission: 'full_access',
    domain_id: null,
    expires_at: null,
  })
}
