import { z } from 'zod'
import type { SearchedBlock } from '#lib/sending/search_terms.ts'
import { sql, type Tx } from '#sql/pool.ts'

/** A range of emails of an account: ids from `above`, exclusive, to `upto`, inclusive. */
export const Range = z.object({ account_id: z.string(), above: z.string(), upto: z.string() })
export type Range = z.infer<typeof Range>

/** A range with the data to search it (sql/migrations/0004_email_filters.sql). */
export type Block = Range & SearchedBlock

const Email = z.object({
  id: z.string(),
  text: z.string(),
  sender: z.string(),
  to: z.array(z.string()),
  domain_id: z.string().nullable(),
  template_id: z.string().nullable(),
  tags: z.array(z.object({ name: z.string(), value: z.string() })),
})
export type EmailToIndex = z.infer<typeof Email>

const columns = sql.fragment`e.id, email_text(e) AS text, e.sender, e."to", e.domain_id, e.template_id, e.tags`

/** Smaller than every id. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

/** Makes Postgres use indexes whatever its statistics say. */
export async function preferIndexes(tx: Tx): Promise<void> {
  await tx.run(sql.unsafe`SET LOCAL enable_seqscan = off`)
}

/** Lists accounts with enough unindexed emails for at least one more block, older than `lag_seconds`. */
export async function listAccountsToIndex(tx: Tx, size: number, lag_seconds: number): Promise<string[]> {
  const accounts = await tx.any(sql.type(z.object({ id: z.string() }))`
    SELECT a.id FROM accounts a
    CROSS JOIN LATERAL (
      SELECT FROM emails e
      WHERE e.account_id = a.id AND e.id > ${lastOf(sql.fragment`a.id`)} AND e.id < ${idBefore(lag_seconds)}
      ORDER BY e.id OFFSET ${size - 1} LIMIT 1
    ) e
  `)
  return accounts.map(({ id }) => id)
}

/**
 * Locks the blocks of an account against additions until the transaction ends. Returns their last id; null if another
 * transaction has the lock.
 */
export async function lockBlocks(tx: Tx, account_id: string): Promise<string | null> {
  const { is_locked } = await tx.one(sql.type(z.object({ is_locked: z.boolean() }))`
    SELECT pg_try_advisory_xact_lock(hashtextextended(${`email_blocks ${account_id}`}, 0)) AS is_locked
  `)
  if (!is_locked) return null
  const { last } = await tx.one(sql.type(z.object({ last: z.string() }))`
    SELECT ${lastOf(sql.fragment`${account_id}`)} AS last
  `)
  return last
}

/** Lists at most `limit` emails that no block covers yet, in the order of ids. */
export async function listEmailsToIndex(
  tx: Tx,
  { account_id, above, lag_seconds, limit }: { account_id: string; above: string; lag_seconds: number; limit: number },
): Promise<EmailToIndex[]> {
  return tx.any(sql.type(Email)`
    SELECT ${columns} FROM emails e
    WHERE e.account_id = ${account_id} AND e.id > ${above} AND e.id < ${idBefore(lag_seconds)}
    ORDER BY e.id LIMIT ${limit}
  `)
}

/** Lists at most `limit` emails of a range, in the order of ids. */
export async function listEmailsOf(tx: Tx, { account_id, above, upto }: Range, limit: number): Promise<EmailToIndex[]> {
  return tx.any(sql.type(Email)`
    SELECT ${columns} FROM emails e
    WHERE e.account_id = ${account_id} AND e.id > ${above} AND e.id <= ${upto}
    ORDER BY e.id LIMIT ${limit}
  `)
}

/** Time until the first check, which then sees emails that were committed at the same time. */
const FIRST_CHECK = sql.fragment`interval '30 seconds'`

export async function insertBlocks(tx: Tx, blocks: Block[]): Promise<void> {
  await tx.run(sql.unsafe`
    WITH added AS (
      INSERT INTO email_blocks (account_id, above, upto, ids, text, terms)
      SELECT account_id, above, upto, ids, text, terms
      FROM json_populate_recordset(NULL::email_blocks, ${JSON.stringify(blocks)}::json)
      RETURNING account_id, upto
    )
    INSERT INTO email_block_checks (account_id, upto, check_at) SELECT account_id, upto, now() + ${FIRST_CHECK} FROM added
  `)
}

export async function deleteBlock(tx: Tx, { account_id, upto }: Range): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM email_blocks WHERE account_id = ${account_id} AND upto = ${upto}`)
}

/** Shrinks a block to the ids above `above`. Its emails are read directly until its check, which is due. */
export async function shrinkBlock(tx: Tx, { account_id, upto }: Range, above: string): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE email_blocks SET above = ${above}, ids = '{}', text = NULL, terms = '{}'
    WHERE account_id = ${account_id} AND upto = ${upto}
  `)
}

/** Returns the id at which the blocks of an account end. */
function lastOf(account_id: ReturnType<typeof sql.fragment>) {
  return sql.fragment`coalesce((
    SELECT b.upto FROM email_blocks b WHERE b.account_id = ${account_id} ORDER BY b.upto DESC LIMIT 1
  ), ${NO_ID}::uuid)`
}

/** Returns the first id of the moment some seconds ago. */
function idBefore(seconds: number) {
  return sql.fragment`first_id(now() - make_interval(secs => ${seconds}))`
}
