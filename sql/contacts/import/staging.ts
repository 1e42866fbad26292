import type pg from 'pg'
import { isSound } from '#sql/connections.ts'
import { NoAnswerError, NotConnectedError } from '#sql/outage.ts'
import { type Pool, sql } from '#sql/pool.ts'
import { isLockTimeout } from '#sql/retry.ts'
import { copyLines } from './copy_lines.ts'
import type { OwnedImport as Owned } from './leases.ts'

/** An invalid record. */
export type RecordFault = { n: number; line: number; email: string | null; message: string }

/** Lines of COPY in pieces, and the invalid records between them. */
export type StagedChunk = { copy: Buffer[]; faults: RecordFault[] }

/** Another worker has taken the import over. */
export class LostLeaseError extends Error {}

/** Longest time to remove all rows of a file. */
const CLEAR_MS = 30 * 60_000

/** Longest time to store the rows of one chunk. */
const CHUNK_MS = 15_000

/** Deletes all that was staged of an import, except faults of merged records. */
export async function clearStage(pool: Pool, owned: Owned): Promise<void> {
  await inOwnTransaction(
    pool,
    owned,
    async (client, { account_id, id }) => {
      await client.query({ text: 'DELETE FROM import_rows WHERE import_id = $1', values: [id], ...unbounded })
      const faults = `DELETE FROM import_errors e USING contact_imports i
      WHERE i.account_id = $1 AND i.id = $2 AND e.account_id = $1 AND e.import_id = $2 AND e.n > i.merged_through`
      await client.query({ text: faults, values: [account_id, id], ...unbounded })
      await client.query('UPDATE contact_imports SET records = NULL WHERE account_id = $1 AND id = $2', [
        account_id,
        id,
      ])
    },
    { ...unbounded, lock: 'pg_advisory_xact_lock' },
  )
}

/** Stages records of a file, each a row or a fault; all of them must come after those already staged. */
export async function stageChunk(pool: Pool, owned: Owned, { copy, faults }: StagedChunk): Promise<void> {
  await inOwnTransaction(pool, owned, async (client, { account_id, id }) => {
    if (copy.length > 0) await copyLines(client, copy)
    if (faults.length === 0) return
    await client.query(
      `INSERT INTO import_errors (account_id, import_id, n, line, email, outcome, message)
       SELECT $1, $2, n, line, email, 'failed', message
       FROM json_to_recordset($3) AS f(n bigint, line bigint, email text, message text) ON CONFLICT DO NOTHING`,
      [account_id, id, JSON.stringify(faults)],
    )
  })
}

/** Longest wait for the lock on the table of staged rows, behind which others wait. A vacuum gives way after 1 s. */
const EMPTY_MS = 1_500

/**
 * Removes the staged rows of a merged import: at once if no other import is running, else in slices, which takes a
 * tenth of the time of the import.
 */
export async function dropStage(pool: Pool, import_id: string): Promise<void> {
  if (await emptyStage(pool, import_id).catch(unlessLocked)) return
  const some = `DELETE FROM import_rows WHERE import_id = $1 AND n = ANY (ARRAY(
    SELECT n FROM import_rows WHERE import_id = $1 ORDER BY n LIMIT 20000))`
  while (((await pool.pg.query(some, [import_id])).rowCount ?? 0) > 0);
}

/**
 * Empties the table; returns false if another import may have staged rows. The lock prevents new rows from the check
 * on.
 */
async function emptyStage(pool: Pool, import_id: string): Promise<boolean> {
  return pool.transaction(async tx => {
    await tx.run(sql.unsafe`SELECT set_config('lock_timeout', ${String(EMPTY_MS)}, true)`)
    await tx.run(sql.unsafe`LOCK TABLE import_rows IN ACCESS EXCLUSIVE MODE`)
    const others = sql.unsafe`SELECT FROM contact_imports WHERE status = 'in_progress' AND id <> ${import_id} LIMIT 1`
    if ((await tx.run(others)) > 0) return false
    await tx.run(sql.unsafe`TRUNCATE import_rows`)
    return true
  })
}

function unlessLocked(error: unknown): false {
  if (isLockTimeout(error)) return false
  throw error
}

const unbounded = { query_timeout: CLEAR_MS }

type Settings = { query_timeout: number; lock: 'pg_advisory_xact_lock' | 'pg_advisory_xact_lock_shared' }

/**
 * Runs a transaction of the worker that has the lease. The transaction that clears the stage waits for those of the
 * previous worker, so none of these commits later. The pool's own transactions cannot run COPY, so this uses a connection
 * of the driver.
 */
async function inOwnTransaction(
  pool: Pool,
  owned: Owned,
  work: (client: pg.PoolClient, owned: Owned) => Promise<void>,
  { query_timeout, lock }: Settings = { query_timeout: CHUNK_MS, lock: 'pg_advisory_xact_lock_shared' },
): Promise<void> {
  const client = await pool.pg.connect().catch(cause => {
    throw new NotConnectedError(cause)
  })
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await client.query(
      `BEGIN; SET LOCAL statement_timeout = ${query_timeout}; SET LOCAL work_mem = '32MB'; SET LOCAL synchronous_commit = off`,
    )
    await client.query(`SELECT ${lock}(hashtextextended($1, 0))`, [`stage ${owned.id}`])
    await requireLease(client, owned)
    await work(client, owned)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(onError)
    throw error instanceof LostLeaseError || isSound(error) ? error : new NoAnswerError(error as Error, '')
  } finally {
    client.removeListener('error', onError)
    client.release(broken)
  }
}

async function requireLease(client: pg.PoolClient, { account_id, id, owner }: Owned): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM contact_imports WHERE account_id = $1 AND id = $2 AND lease_owner = $3 AND status = 'in_progress'`,
    [account_id, id, owner],
  )
  if (rowCount === 0) throw new LostLeaseError(`another worker has taken over the import ${id}`)
}
