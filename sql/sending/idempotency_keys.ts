import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** `fingerprint` is hex. */
type BoundKey = { route: string; key: string; fingerprint: string }

/** Locks the key until the transaction ends; returns false if another request holds it. */
export async function lockKey(
  tx: Tx,
  account_id: string,
  { route, key }: Omit<BoundKey, 'fingerprint'>,
): Promise<boolean> {
  const name = `idempotency ${account_id} ${route} ${key}`
  const { is_locked } = await tx.one(sql.type(z.object({ is_locked: z.boolean() }))`
    SELECT pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) AS is_locked
  `)
  return is_locked
}

/** `answer` is JSON. */
const BoundAnswer = z.object({ fingerprint: z.string(), answer: z.string() })

/** Finds the answer that a key is bound to, unless it has expired. */
export async function findBoundAnswer(
  tx: Tx,
  account_id: string,
  { route, key }: BoundKey,
): Promise<z.infer<typeof BoundAnswer> | null> {
  return tx.maybeOne(sql.type(BoundAnswer)`
    SELECT encode(fingerprint, 'hex') AS fingerprint, answer #>> '{}' AS answer FROM idempotency_keys
    WHERE account_id = ${account_id} AND route = ${route} AND key = ${key} AND created_at > now() - key_lifetime()
  `)
}

/** Binds a locked key that has no answer, or an expired one. The answer is kept as text: `jsonb` forgets the order of members. */
export async function bindKey(
  tx: Tx,
  account_id: string,
  { route, key, fingerprint }: BoundKey,
  answer: string,
): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO idempotency_keys (account_id, route, key, fingerprint, answer)
    VALUES (${account_id}, ${route}, ${key}, decode(${fingerprint}, 'hex'), ${JSON.stringify(answer)})
    ON CONFLICT (account_id, route, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
  `)
}

/** A claim is a row of its own, beside the answer that its request will bind: the route has this before it. */
const CLAIM = 'claim of '

/** `owner`: a UUID that only one request has. */
type Claim = BoundKey & { account_id: string; owner: string }

/** Claims a key for some seconds. Returns null if it is claimed, else the fingerprint of the request that holds it. */
export async function claimKey(
  tx: Tx,
  { account_id, route, key, fingerprint, owner }: Claim,
  seconds: number,
): Promise<{ fingerprint: string } | null> {
  const count = await tx.run(sql.unsafe`
    INSERT INTO idempotency_keys AS k (account_id, route, key, fingerprint, answer)
    VALUES (${account_id}, ${CLAIM + route}, ${key}, decode(${fingerprint}, 'hex'), ${JSON.stringify(owner)})
    ON CONFLICT (account_id, route, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
      WHERE k.created_at < now() - make_interval(secs => ${seconds})
  `)
  if (count > 0) return null
  // The row is there: the statement above has locked it.
  return tx.one(sql.type(z.object({ fingerprint: z.string() }))`
    SELECT encode(fingerprint, 'hex') AS fingerprint FROM idempotency_keys
    WHERE account_id = ${account_id} AND route = ${CLAIM + route} AND key = ${key}
  `)
}

/** Begins the time of a claim again, unless it has ended and another request has claimed the key. */
export async function extendClaim(db: Queryable, { account_id, route, key, owner }: Claim): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE idempotency_keys SET created_at = now()
    WHERE account_id = ${account_id} AND route = ${CLAIM + route} AND key = ${key} AND answer = ${JSON.stringify(owner)}
  `)
}

export async function releaseClaim(db: Queryable, { account_id, route, key, owner }: Claim): Promise<void> {
  await db.run(sql.unsafe`
    DELETE FROM idempotency_keys
    WHERE account_id = ${account_id} AND route = ${CLAIM + route} AND key = ${key} AND answer = ${JSON.stringify(owner)}
  `)
}

/** Deletes the keys that are past their lifetime (sql/sending/key_lifetime.sql). Returns how many. */
export async function deleteExpiredKeys(db: Queryable): Promise<number> {
  return db.run(sql.unsafe`DELETE FROM idempotency_keys WHERE created_at < now() - key_lifetime()`)
}
