import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** `is_known`: it was created so long ago that every process has read it. */
const TokenKeyRow = z.object({ kid: z.int(), key: z.instanceof(Buffer), is_known: z.boolean() })
export type TokenKeyRow = z.infer<typeof TokenKeyRow>

/** Lists all keys of tokens, sealed, oldest first. */
export async function listTokenKeys(db: Queryable): Promise<TokenKeyRow[]> {
  return db.any(sql.type(TokenKeyRow)`
    SELECT kid, key, created_at < now() - interval '10 minutes' AS is_known FROM token_keys ORDER BY kid
  `)
}

/** Keeps the first key of a kid: if two processes start at the same time, both read what the first one wrote. */
export async function insertTokenKey(db: Queryable, { kid, key }: Pick<TokenKeyRow, 'kid' | 'key'>): Promise<void> {
  await db.run(sql.unsafe`
    INSERT INTO token_keys (kid, key) VALUES (${kid}, ${sql.binary(key)}) ON CONFLICT (kid) DO NOTHING
  `)
}
