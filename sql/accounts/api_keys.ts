import { z } from 'zod'
import type { Role } from '#lib/members/roles.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** An API key that sends a request, with what it may do. */
const KeyCaller = z.object({
  account_id: z.string(),
  id: z.string(),
  name: z.string(),
  permission: z.enum(['full_access', 'sending_access']),
  domain_id: z.string().nullable(),
  /** Used as `domain` if a request names none. */
  default_domain_id: z.string().nullable(),
  usable: z.boolean(),
  /** Time until it expires; null: it never expires, or has expired. */
  expires_in_ms: z.number().nullable(),
})
type KeyCaller = z.infer<typeof KeyCaller>

/** The sender of a request: an API key, or a member who is signed in. `role` is null for a key. */
export type Caller = KeyCaller & { role: Role | null }

/**
 * Looks up a key by its hash and records its use, at most once per minute. A revoked or expired key is refused, and its
 * use is not recorded. The clock of Postgres decides on expiry.
 */
export async function findCaller(db: Queryable, hash: Buffer): Promise<Caller | null> {
  const key = await db.maybeOne(sql.type(KeyCaller)`
    WITH found AS (
      SELECT account_id, id, name, permission, domain_id, default_domain_id, last_used_at,
        revoked_at IS NULL AND coalesce(expires_at > now(), true) AS usable,
        CASE WHEN expires_at > now() THEN extract(epoch FROM expires_at - now())::float8 * 1000 END AS expires_in_ms
      FROM api_keys WHERE hash = ${sql.binary(hash)}
    ), used AS (
      UPDATE api_keys SET last_used_at = now() FROM found
      WHERE api_keys.hash = ${sql.binary(hash)} AND found.usable
        AND coalesce(found.last_used_at < now() - interval '1 minute', true)
    )
    SELECT account_id, id, name, permission, domain_id, default_domain_id, usable, expires_in_ms FROM found
  `)
  return key && { ...key, role: null }
}

export const ApiKey = z
  .object({
    object: z.literal('api_key'),
    id: z.string(),
    name: z.string().describe('Name for people.'),
    prefix: z.string().describe('First characters of the key.'),
    permission: z.enum(['full_access', 'sending_access']).describe('`sending_access`: it can only send.'),
    domain_id: z.string().nullable().describe('Id of the domain that it is limited to; null: all.'),
    default_domain_id: z
      .string()
      .nullable()
      .describe('Id of the default domain of requests that need a domain and name none; null: none.'),
    created_at: z.date(),
    last_used_at: z.date().nullable().describe('When it was last used, to the minute; null: never.'),
    expires_at: z.date().nullable().describe('When it expires; null: never.'),
  })
  .meta({ id: 'ApiKey' })
export type ApiKey = z.infer<typeof ApiKey>

const columns = sql.fragment`
  'api_key' AS object, id, name, prefix, permission, domain_id, default_domain_id, created_at, last_used_at, expires_at
`

/** Finds a key that is not revoked. */
export async function findApiKey(db: Queryable, account_id: string, id: string): Promise<ApiKey | null> {
  return db.maybeOne(sql.type(ApiKey)`
    SELECT ${columns} FROM api_keys WHERE account_id = ${account_id} AND id = ${id} AND revoked_at IS NULL
  `)
}

/** As `findApiKey`; locks the key until the transaction ends. */
export async function lockApiKey(tx: Tx, account_id: string, id: string): Promise<ApiKey | null> {
  return tx.maybeOne(sql.type(ApiKey)`
    SELECT ${columns} FROM api_keys WHERE account_id = ${account_id} AND id = ${id} AND revoked_at IS NULL FOR UPDATE
  `)
}

export async function listApiKeys(db: Queryable, account_id: string, position: Position): Promise<Page<ApiKey>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ApiKey)`
      SELECT ${columns} FROM api_keys WHERE account_id = ${account_id} AND revoked_at IS NULL AND ${where}
      ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export type NewApiKey = {
  account_id: string
  id: string
  name: string
  prefix: string
  hash: Buffer
  permission: 'full_access' | 'sending_access'
  domain_id: string | null
  default_domain_id?: string | null
  expires_at: string | null
}

export async function insertApiKey(db: Queryable, key: NewApiKey): Promise<void> {
  await db.run(sql.unsafe`
    INSERT INTO api_keys (account_id, id, name, prefix, hash, permission, domain_id, default_domain_id, expires_at)
    VALUES (${key.account_id}, ${key.id}, ${key.name}, ${key.prefix}, ${sql.binary(key.hash)}, ${key.permission},
      ${key.domain_id}, ${key.default_domain_id ?? null}, ${key.expires_at})
  `)
}

export async function updateApiKey(db: Queryable, key: Omit<Required<NewApiKey>, 'prefix' | 'hash'>): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE api_keys SET name = ${key.name}, permission = ${key.permission}, domain_id = ${key.domain_id},
      default_domain_id = ${key.default_domain_id}, expires_at = ${key.expires_at}
    WHERE account_id = ${key.account_id} AND id = ${key.id}
  `)
}

/** Returns false if the account has no such key in use. */
export async function revokeOwnApiKey(db: Queryable, account_id: string, id: string): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    UPDATE api_keys SET revoked_at = now() WHERE account_id = ${account_id} AND id = ${id} AND revoked_at IS NULL
  `)
  return count > 0
}

const OwnedKey = z.object({ account_id: z.string(), id: z.string() })

/** Revokes a key by id or by hash; returns null if there is no such key or it is revoked already. */
export async function revokeApiKey(
  db: Queryable,
  id: string | null,
  hash: Buffer | null,
): Promise<z.infer<typeof OwnedKey> | null> {
  return db.maybeOne(sql.type(OwnedKey)`
    UPDATE api_keys SET revoked_at = now()
    WHERE revoked_at IS NULL AND (id = ${id}::uuid OR hash = ${hash ? sql.binary(hash) : null})
    RETURNING account_id, id
  `)
}
