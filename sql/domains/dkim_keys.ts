import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

export const DkimKeyRow = z.object({
  account_id: z.string(),
  id: z.string(),
  domain_id: z.string(),
  domain: z.string(),
  selector: z.string(),
  algorithm: z.enum(['rsa-sha256', 'ed25519-sha256']),
  private_key: z.instanceof(Buffer),
  /** True if a worker could not use the key when it last tried. */
  is_unusable: z.boolean(),
})
export type DkimKeyRow = z.infer<typeof DkimKeyRow>

type KeyState = 'staged' | 'active' | 'retired'

/** `is_published`: its record is known to exist. The key signs from the start unless it is staged. */
export type NewDkimKey = Omit<DkimKeyRow, 'domain' | 'is_unusable'> & {
  public_key: string
  generation?: number
  state?: Exclude<KeyState, 'retired'>
  is_published?: boolean
}

export async function insertDkimKeys(tx: Tx, keys: NewDkimKey[]): Promise<void> {
  const rows = keys.map(({ private_key, generation = 1, state = 'active', is_published = false, ...key }) => ({
    ...key,
    private_key: private_key.toString('hex'),
    generation,
    state,
    is_published,
  }))
  await tx.run(sql.unsafe`
    INSERT INTO dkim_keys (account_id, id, domain_id, selector, algorithm, public_key, private_key, generation, state,
      is_published, activated_at)
    SELECT k.account_id, k.id, k.domain_id, k.selector, k.algorithm, k.public_key, decode(k.private_key, 'hex'),
      k.generation, k.state, k.is_published, CASE WHEN k.state = 'active' THEN now() END
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS k(account_id uuid, id uuid, domain_id uuid, selector text,
      algorithm text, public_key text, private_key text, generation integer, state text, is_published boolean)
  `)
}

/**
 * Lists the keys that a domain signs with, RSA first: the newest of each algorithm, unless that was found unusable
 * within the last minute and another was not.
 */
export async function listSigningKeys(db: Queryable, account_id: string, domain_id: string): Promise<DkimKeyRow[]> {
  return db.any(sql.type(DkimKeyRow)`
    SELECT DISTINCT ON (k.algorithm) k.account_id, k.id, k.domain_id, d.name AS domain, k.selector, k.algorithm,
      k.private_key, k.unusable_at IS NOT NULL AS is_unusable
    FROM dkim_keys k JOIN domains d ON d.account_id = k.account_id AND d.id = k.domain_id
    WHERE k.account_id = ${account_id} AND k.domain_id = ${domain_id} AND k.state = 'active'
    AND (k.algorithm = 'rsa-sha256' OR k.is_published)
    ORDER BY k.algorithm DESC, coalesce(k.unusable_at > now() - interval '60 seconds', false), k.id DESC
  `)
}

/** Stores whether a worker could use a key. While a key is unusable, no mail is accepted that it would have to sign. */
export async function markDkimKey(db: Queryable, key: DkimKeyRow, is_unusable: boolean): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE dkim_keys SET unusable_at = CASE WHEN ${is_unusable} THEN now() END
    WHERE account_id = ${key.account_id} AND id = ${key.id}
      -- If many messages find the key unusable, only one of them writes.
      AND (NOT ${is_unusable} OR unusable_at IS NULL OR unusable_at < now() - interval '5 seconds')
  `)
}

/** A key with the fields for its DNS record. */
export const PublishedDkimKey = z.object({
  id: z.string(),
  selector: z.string(),
  algorithm: z.enum(['rsa-sha256', 'ed25519-sha256']),
  public_key: z.string(),
  state: z.enum(['staged', 'active', 'retired']),
  is_published: z.boolean(),
})
export type PublishedDkimKey = z.infer<typeof PublishedDkimKey>

/** Lists the keys of a domain in the order of their creation. */
export async function listDkimKeys(db: Queryable, account_id: string, domain_id: string): Promise<PublishedDkimKey[]> {
  return db.any(sql.type(PublishedDkimKey)`
    SELECT id, selector, algorithm, public_key, state, is_published FROM dkim_keys
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} ORDER BY id
  `)
}

/** Returns how often keys were generated for a domain: the number of its last selector. */
export async function findKeyGeneration(db: Queryable, account_id: string, domain_id: string): Promise<number> {
  const { generation } = await db.one(sql.type(z.object({ generation: z.int() }))`
    SELECT coalesce(max(generation), 0) AS generation FROM dkim_keys
    WHERE account_id = ${account_id} AND domain_id = ${domain_id}
  `)
  return generation
}

export async function deleteDkimKeys(tx: Tx, account_id: string, domain_id: string): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM dkim_keys WHERE account_id = ${account_id} AND domain_id = ${domain_id}`)
}
