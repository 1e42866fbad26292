import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { now } from '#lib/clock.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import type { ApiKeyChange, NewApiKey } from '#lib/members/new_api_key.ts'
import type { Secrets } from '#lib/secrets.ts'
import { type ApiKey, findApiKey, lockApiKey, updateApiKey } from '#sql/accounts/api_keys.ts'
import { blockDomainDeletion } from '#sql/domains/domains.ts'
import type { Pool, Tx } from '#sql/pool.ts'

type Scope = Pick<NewApiKey, 'permission' | 'domain_id' | 'default_domain_id'>

/**
 * Creates a key. Its text is returned in `token`, only this once. @throws {ApiError} `validation_error`, `not_found`
 * for a domain
 */
export async function makeApiKey(
  tx: Tx,
  secrets: Secrets,
  account_id: string,
  given: NewApiKey,
): Promise<ApiKey & { token: string }> {
  await checkScope(tx, account_id, given)
  const expires_at = expiry(given.expires_at)
  const id = newId()
  const token = await createApiKey(tx, secrets, { ...given, account_id, id, expires_at })
  return { ...((await findApiKey(tx, account_id, id)) as ApiKey), token }
}

/** Changes the given fields. All processes apply the new scope within 5 seconds. @throws {ApiError} as `makeApiKey` */
export async function changeApiKey(pool: Pool, account_id: string, id: string, change: ApiKeyChange): Promise<void> {
  await pool.transaction(async tx => {
    const key = await lockApiKey(tx, account_id, id)
    if (!key) throw notFound('Key')
    const { expires_at, ...fields } = { ...key, ...change }
    await checkScope(tx, account_id, fields)
    const until = change.expires_at === undefined ? (expires_at?.toISOString() ?? null) : expiry(change.expires_at)
    await updateApiKey(tx, { ...fields, account_id, id, expires_at: until })
  })
}

async function checkScope(tx: Tx, account_id: string, scope: Scope): Promise<void> {
  // Such a key could read everything, but its domain would make it look harmless.
  if (scope.domain_id && scope.permission !== 'sending_access') {
    throw new ApiError('validation_error', '`domain_id` limits only keys whose `permission` is `sending_access`.')
  }
  for (const id of [scope.domain_id, scope.default_domain_id]) {
    if (id && !(await blockDomainDeletion(tx, account_id, id))) throw notFound('Domain')
  }
}

function expiry(time: Date | null): string | null {
  if (time && time <= now()) throw new ApiError('validation_error', '`expires_at` must be in the future.')
  return time?.toISOString() ?? null
}
