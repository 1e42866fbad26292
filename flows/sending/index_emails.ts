import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#lib/log.ts'
import { searchedBlock } from '#lib/sending/search_terms.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { lockDueBlocks, markChecked, mergeBlock } from '#sql/sending/search/email_block_checks.ts'
import {
  type Block,
  deleteBlock,
  type EmailToIndex,
  insertBlocks,
  listAccountsToIndex,
  listEmailsOf,
  listEmailsToIndex,
  lockBlocks,
  preferIndexes,
  type Range,
  shrinkBlock,
} from '#sql/sending/search/email_blocks.ts'

/**
 * `size`: emails per block; larger blocks are fewer, but each is slower to read. `lag_seconds`: younger emails are not
 * indexed yet, since emails with lower ids may still be uncommitted.
 */
const INDEX_OPTIONS = { size: 64, lag_seconds: 5 }
type IndexOptions = typeof INDEX_OPTIONS

/** Blocks per transaction; more would delay other work of the process. */
const BATCH = 16

/**
 * Groups unindexed emails into blocks for searches (sql/sending/search/search_emails.sql), and updates blocks whose
 * emails have changed. Any number of processes may index at the same time. Returns how many emails were added.
 */
export async function indexEmails(pool: Pool, options = INDEX_OPTIONS, isStopping = () => false): Promise<number> {
  let count = 0
  for (let changed = 1; changed > 0 && !isStopping(); ) {
    changed = await pool.transaction(tx => checkBlocks(tx, options))
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

/** Indexes every `interval_ms` until it is stopped. */
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

async function addBlocks(tx: Tx, account_id: string, { size, lag_seconds }: IndexOptions): Promise<number> {
  await preferIndexes(tx)
  const above = await lockBlocks(tx, account_id)
  if (above === null) return 0
  const emails = await listEmailsToIndex(tx, { account_id, above, lag_seconds, limit: BATCH * size })
  const full = emails.slice(0, emails.length - (emails.length % size))
  const blocks = cutBlocks({ account_id, above, upto: full.at(-1)?.id ?? above }, full, size)
  if (blocks.length > 0) await insertBlocks(tx, blocks)
  return full.length
}

/** Returns blocks of `size` emails (the last may have fewer) that cover the range without gaps. */
function cutBlocks({ account_id, above, upto }: Range, emails: EmailToIndex[], size: number): Block[] {
  const blocks: Block[] = []
  for (let start = 0, from = above; start < emails.length; start += size) {
    const part = emails.slice(start, start + size)
    const isLast = start + size >= emails.length
    const to = isLast ? upto : (part.at(-1) as EmailToIndex).id
    blocks.push({ account_id, above: from, upto: to, ...searchedBlock(account_id, part) })
    from = to
  }
  return blocks
}

async function checkBlocks(tx: Tx, { size }: IndexOptions): Promise<number> {
  await preferIndexes(tx)
  const due = await lockDueBlocks(tx, BATCH)
  const checked = due.filter(({ is_changed }) => !is_changed)
  for (const block of due.filter(({ is_changed }) => is_changed)) {
    if (!(await renewBlock(tx, block, size))) checked.push(block)
  }
  if (checked.length > 0) await markChecked(tx, checked)
  return due.length
}

/** Returns false if the block could not be renewed now. */
async function renewBlock(tx: Tx, block: Range, size: number): Promise<boolean> {
  const limit = BATCH * size
  const emails = await listEmailsOf(tx, block, limit)
  if (emails.length === 0) return (await lockBlocks(tx, block.account_id)) !== null && mergeBlock(tx, block)
  const upto = (emails.at(-1) as EmailToIndex).id
  if (emails.length === limit && upto < block.upto) {
    await shrinkBlock(tx, block, upto)
    await insertBlocks(tx, cutBlocks({ ...block, upto }, emails, size))
  } else {
    await deleteBlock(tx, block)
    // Splits the block only if it has more than twice the size.
    await insertBlocks(tx, cutBlocks(block, emails, emails.length > 2 * size ? size : emails.length))
  }
  return true
}
