import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import { Range } from './email_blocks.ts'

const Due = Range.extend({ is_changed: z.boolean() })

/**
 * Locks and returns blocks that are due for a check. `is_changed`: the block does not have all emails that are now in
 * its range.
 */
export async function lockDueBlocks(tx: Tx, limit: number): Promise<z.infer<typeof Due>[]> {
  return tx.any(sql.type(Due)`
    WITH due AS MATERIALIZED (
      SELECT b.account_id, b.above, b.upto, b.ids, b.text IS NULL AS is_emptied
      FROM email_block_checks c JOIN email_blocks b ON b.account_id = c.account_id AND b.upto = c.upto
      WHERE c.check_at <= now() ORDER BY c.check_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    SELECT account_id, above, upto, is_emptied OR cardinality(ids) <> (
      SELECT count(*) FROM emails e WHERE e.account_id = due.account_id AND e.id > due.above AND e.id <= due.upto
    ) AS is_changed
    FROM due
  `)
}

/**
 * Schedules the next check of blocks, when they are twice as old and at least once per day: an id comes from the clock
 * of a web process, which may be wrong by any amount.
 */
export async function markChecked(tx: Tx, blocks: Range[]): Promise<void> {
  const [accounts, ends] = [blocks.map(block => block.account_id), blocks.map(block => block.upto)]
  await tx.run(sql.unsafe`
    UPDATE email_block_checks c
    SET check_at = now() + least(greatest(now() - b.created_at, interval '15 minutes'), interval '1 day')
    FROM unnest(${sql.array(accounts, 'uuid')}, ${sql.array(ends, 'uuid')}) AS g(account_id, upto)
    JOIN email_blocks b ON b.account_id = g.account_id AND b.upto = g.upto
    WHERE c.account_id = g.account_id AND c.upto = g.upto
  `)
}

/**
 * Deletes a block and gives its range to the next one, since emails may still be added to it. The blocks of the account
 * must be locked: otherwise a new block could begin where this one ends. Returns false if the next block was locked.
 */
export async function mergeBlock(tx: Tx, { account_id, above, upto }: Range): Promise<boolean> {
  const count = await tx.run(sql.unsafe`
    WITH next AS MATERIALIZED (
      SELECT upto FROM email_blocks WHERE account_id = ${account_id} AND upto > ${upto} ORDER BY upto LIMIT 1
    ), free AS MATERIALIZED (
      -- Not waited for: a transaction that deletes emails locks several blocks in another order.
      SELECT b.upto FROM next JOIN email_blocks b ON b.account_id = ${account_id} AND b.upto = next.upto
      FOR UPDATE OF b SKIP LOCKED
    ), extended AS (
      UPDATE email_blocks b SET above = ${above} FROM free WHERE b.account_id = ${account_id} AND b.upto = free.upto
    )
    DELETE FROM email_blocks b
    WHERE b.account_id = ${account_id} AND b.upto = ${upto}
      AND (EXISTS (SELECT FROM free) OR NOT EXISTS (SELECT FROM next))
  `)
  return count > 0
}
