import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const TokenKeyRow = z.object({ kid: z.int(), key: z.instanceof(Buffer) })
export type TokenKeyRow = z.infer<typeof TokenKeyRow>

/** All keys of tokens, sealed. */
export async function listTokenKeys(db: Queryable): Promise<TokenKeyRow[]> {
  return db.any(sql.type(TokenKeyRow)`SELECT kid, key FROM token_keys ORDER BY kid`)
}

/** Keeps the first key of this kid: of two processes that start at the same moment one wins and both read what it wrote. */
export async function insertTokenKey(db: Queryable, { kid, key }: TokenKeyRow): Promise<void> {
  await db.run(sql.unsafe`
    INSERT INTO token_keys (kid, key) VALUES (${kid}, ${sql.binary(key)}) ON CONFLICT (kid) DO NOTHING
  `)
}
