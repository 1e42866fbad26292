import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../lib/log.ts'
import { searchedBlock } from '../lib/search_terms.ts'
import {
  type Block,
  deleteBlock,
  type EmailToIndex,
  insertBlocks,
  listAccountsToIndex,
  listEmailsOf,
  listEmailsToIndex,
  lockBlocks,
  lockDueBlocks,
  markChecked,
  preferIndexes,
  updateBlock,
} from '../sql/email_blocks.ts'
import type { Pool, Queryable } from '../sql/pool.ts'

/**
 * Emails of a block: larger ones make a list of blocks shorter and each of them slower to read. Emails as young as
 * `lag_seconds` are left, since others with lower ids may still be on their way.
 */
export const INDEX_OPTIONS = { size: 64, lag_seconds: 5 }
export type IndexOptions = typeof INDEX_OPTIONS

/** Blocks of one transaction: more would hold up whatever else the process does. */
const BATCH = 16

/**
 * Makes blocks of emails that are in none, for searches (sql/functions/search_emails.sql), and brings those up to date
 * whose emails have changed. Any number of processes may index at the same moment. Answers how many emails it read.
 */
export async function indexEmails(pool: Pool, options = INDEX_OPTIONS, isStopping = () => false): Promise<number> {
  let count = 0
  for (let changed = 1; changed > 0 && !isStopping(); ) {
    changed = await pool.transaction(checkBlocks)
  }
  const accounts = await pool.transaction(async tx => {
    await preferIndexes(tx)
    return listAccountsToIndex(tx, options.size, options.lag_seconds)
  })
  for (const account_id of accounts) {
    for (let added = 1; added > 0 && !isStopping(); count += added) {
      added = await pool.transaction(tx => addBlocks(tx, account_id, options))
    }
  }
  return count
}

/** Indexes now and then until it is stopped. */
export function startIndexer(pool: Pool, log: Log, interval_ms: number): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    while (!signal.aborted) {
      await indexEmails(pool, INDEX_OPTIONS, () => signal.aborted).catch(error =>
        log.error({ err: error }, 'emails could not be indexed'),
      )
      await sleep(interval_ms, undefined, { signal }).catch(() => {})
    }
  }
  const stopped = run()
  return {
    stop() {
      stopping.abort()
      return stopped
    },
  }
}

async function addBlocks(tx: Queryable, account_id: string, { size, lag_seconds }: IndexOptions): Promise<number> {
  await preferIndexes(tx)
  let above = await lockBlocks(tx, account_id)
  if (above === null) return 0
  const emails = await listEmailsToIndex(tx, { account_id, above, lag_seconds, limit: BATCH * size })
  const blocks: Block[] = []
  for (let end = size; end <= emails.length; end += size) {
    const part = emails.slice(end - size, end)
    const upto = (part.at(-1) as EmailToIndex).id
    blocks.push({ account_id, above, upto, count: size, ...searchedBlock(account_id, part) })
    above = upto
  }
  if (blocks.length > 0) await insertBlocks(tx, blocks)
  return blocks.length * size
}

async function checkBlocks(tx: Queryable): Promise<number> {
  await preferIndexes(tx)
  const due = await lockDueBlocks(tx, BATCH)
  for (const block of due.filter(({ is_changed }) => is_changed)) {
    const emails = await listEmailsOf(tx, block)
    if (emails.length === 0) await deleteBlock(tx, block)
    else await updateBlock(tx, { ...block, count: emails.length, ...searchedBlock(block.account_id, emails) })
  }
  const unchanged = due.filter(({ is_changed }) => !is_changed)
  if (unchanged.length > 0) await markChecked(tx, unchanged)
  return due.length
}
