import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { sendableStatuses } from './columns.ts'

/** The domain that keys belong to. */
export const KeyOwner = z.object({ account_id: z.string(), domain_id: z.string() })
export type KeyOwner = z.infer<typeof KeyOwner>

/** Fields of a domain that decide about its next keys. */
export const KeyedDomain = z.object({
  is_trusted: z.boolean(),
  was_verified: z.boolean(),
  /** Generation of its newest keys. */
  generation: z.number().int(),
  /** True if the next RSA key exists and waits for its record. */
  is_rotating: z.boolean(),
})
export type KeyedDomain = z.infer<typeof KeyedDomain>

export async function findKeyedDomain(db: Queryable, { account_id, domain_id }: KeyOwner): Promise<KeyedDomain | null> {
  return db.maybeOne(sql.type(KeyedDomain)`
    SELECT d.is_trusted, d.verified_at IS NOT NULL AS was_verified, coalesce(max(k.generation), 0) AS generation,
      count(*) FILTER (WHERE k.state = 'staged' AND k.algorithm = 'rsa-sha256') > 0 AS is_rotating
    FROM domains d LEFT JOIN dkim_keys k ON k.account_id = d.account_id AND k.domain_id = d.id
    WHERE d.account_id = ${account_id} AND d.id = ${domain_id} GROUP BY d.account_id, d.id
  `)
}

/** Stores which keys have their record in DNS. */
export async function markPublishedKeys(
  tx: Tx,
  { account_id, domain_id }: KeyOwner,
  seen: { selector: string; is_published: boolean }[],
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE dkim_keys k SET is_published = s.is_published
    FROM json_to_recordset(${JSON.stringify(seen)}::json) AS s(selector text, is_published boolean)
    WHERE k.account_id = ${account_id} AND k.domain_id = ${domain_id} AND k.selector = s.selector
      AND k.is_published <> s.is_published
  `)
}

/** Marks staged keys as published, as the operator has confirmed. */
export async function markStagedKeysPublished(tx: Tx, { account_id, domain_id }: KeyOwner): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE dkim_keys SET is_published = true
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND state = 'staged'
  `)
}

/**
 * Activates each staged key whose record is published; the active key of its algorithm retires. This is one statement,
 * so there is never a moment with two active keys or none. Returns how many keys have changed.
 */
export async function activateStagedKeys(tx: Tx, { account_id, domain_id }: KeyOwner): Promise<number> {
  return tx.run(sql.unsafe`
    UPDATE dkim_keys k SET state = CASE k.state WHEN 'staged' THEN 'active' ELSE 'retired' END,
      activated_at = CASE k.state WHEN 'staged' THEN now() ELSE k.activated_at END,
      retired_at = CASE k.state WHEN 'active' THEN now() END
    WHERE k.account_id = ${account_id} AND k.domain_id = ${domain_id} AND CASE k.state
      WHEN 'staged' THEN k.is_published
      WHEN 'active' THEN EXISTS (
        SELECT FROM dkim_keys s WHERE s.account_id = k.account_id AND s.domain_id = k.domain_id
          AND s.algorithm = k.algorithm AND s.state = 'staged' AND s.is_published
      )
      ELSE false
    END
  `)
}

/** Deletes staged keys left from a rotation whose Ed25519 key was never published. */
export async function deleteStagedKeys(tx: Tx, { account_id, domain_id }: KeyOwner): Promise<void> {
  await tx.run(sql.unsafe`
    DELETE FROM dkim_keys WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND state = 'staged'
  `)
}

/**
 * Deletes keys that retired 7 days ago: mail is retried for 72 hours, and may be stored or forwarded before it is
 * verified. Returns their domains.
 */
export async function deleteRetiredKeys(tx: Tx): Promise<KeyOwner[]> {
  return tx.any(sql.type(KeyOwner)`
    DELETE FROM dkim_keys WHERE state = 'retired' AND retired_at < now() - interval '7 days' RETURNING account_id, domain_id
  `)
}

/** Lists domains verified by DNS that have signed with the same key for this many days, the longest first. */
export async function listDomainsToRotate(db: Queryable, days: number, limit: number): Promise<KeyOwner[]> {
  return db.any(sql.type(KeyOwner)`
    SELECT k.account_id, k.domain_id FROM dkim_keys k
    JOIN domains d ON d.account_id = k.account_id AND d.id = k.domain_id
    WHERE k.state = 'active' AND k.algorithm = 'rsa-sha256' AND k.activated_at < now() - make_interval(days => ${days})
      AND d.status IN ${sendableStatuses} AND NOT d.is_trusted AND d.verified_at IS NOT NULL
      AND NOT EXISTS (
        SELECT FROM dkim_keys s WHERE s.account_id = k.account_id AND s.domain_id = k.domain_id
          AND s.algorithm = k.algorithm AND s.state = 'staged'
      )
    ORDER BY k.activated_at LIMIT ${limit}
  `)
}

const LackingDomain = KeyOwner.extend({ generation: z.number().int() })

/** Lists domains without an Ed25519 key, added before these existed, with the generation of their RSA key. */
export async function listDomainsWithoutEd25519(
  db: Queryable,
  limit: number,
): Promise<z.infer<typeof LackingDomain>[]> {
  return db.any(sql.type(LackingDomain)`
    SELECT k.account_id, k.domain_id, k.generation FROM dkim_keys k
    JOIN domains d ON d.account_id = k.account_id AND d.id = k.domain_id
    WHERE k.state = 'active' AND k.algorithm = 'rsa-sha256' AND NOT d.is_trusted
      AND NOT EXISTS (
        SELECT FROM dkim_keys e WHERE e.account_id = k.account_id AND e.domain_id = k.domain_id
          AND e.algorithm = 'ed25519-sha256'
      )
    ORDER BY k.id LIMIT ${limit}
  `)
}
