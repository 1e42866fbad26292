import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** A passkey as its member sees it. */
const Passkey = z.object({
  id: z.string(),
  credential_id: z.string(),
  transports: z.array(z.string()),
  name: z.string(),
  created_at: z.date(),
  last_used_at: z.date().nullable(),
})
export type Passkey = z.infer<typeof Passkey>

/** Lists the passkeys of a member, newest first. */
export async function listPasskeys(db: Queryable, member_id: string): Promise<Passkey[]> {
  return db.any(sql.type(Passkey)`
    SELECT id, credential_id, transports, name, created_at, last_used_at FROM passkeys
    WHERE member_id = ${member_id} ORDER BY id DESC
  `)
}

/**
 * `public_key`: in COSE format. `counter`: how often the authenticator reports that it was used; 0 if it does not
 * count.
 */
const StoredPasskey = z.object({
  id: z.string(),
  member_id: z.string(),
  credential_id: z.string(),
  public_key: z.instanceof(Buffer),
  counter: z.number(),
  transports: z.array(z.string()),
})
export type StoredPasskey = z.infer<typeof StoredPasskey>

export async function findPasskey(db: Queryable, credential_id: string): Promise<StoredPasskey | null> {
  return db.maybeOne(sql.type(StoredPasskey)`
    SELECT id, member_id, credential_id, public_key, counter::float8 AS counter, transports FROM passkeys
    WHERE credential_id = ${credential_id}
  `)
}

/** Returns false if the passkey exists already. */
export async function insertPasskey(db: Queryable, passkey: StoredPasskey & { name: string }): Promise<boolean> {
  const { id, member_id, credential_id, public_key, counter, transports, name } = passkey
  const count = await db.run(sql.unsafe`
    INSERT INTO passkeys (id, member_id, credential_id, public_key, counter, transports, name)
    VALUES (${id}, ${member_id}, ${credential_id}, ${sql.binary(public_key)}, ${counter}, ${sql.array(transports, 'text')},
      ${name})
    ON CONFLICT (credential_id) DO NOTHING
  `)
  return count > 0
}

export async function noteUseOfPasskey(db: Queryable, id: string, counter: number): Promise<void> {
  await db.run(sql.unsafe`UPDATE passkeys SET counter = ${counter}, last_used_at = now() WHERE id = ${id}`)
}

export async function deletePasskey(db: Queryable, member_id: string, id: string): Promise<void> {
  await db.run(sql.unsafe`DELETE FROM passkeys WHERE member_id = ${member_id} AND id = ${id}`)
}
