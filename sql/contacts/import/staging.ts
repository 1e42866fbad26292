import type pg from 'pg'
import { NoAnswerError, NotConnectedError, sqlState } from '#sql/outage.ts'
import type { Pool } from '#sql/pool.ts'
import { copyLines } from './copy_lines.ts'
import type { OwnedImport as Owned } from './leases.ts'

/** A record that is wrong. */
export type RecordFault = { n: number; line: number; email: string | null; message: string }

/** Lines of COPY in pieces, and the records between them that are wrong. */
export type StagedChunk = { copy: Buffer[]; faults: RecordFault[] }

/** Another worker has taken the import over. */
export class LostLeaseError extends Error {}

/** So long the search for repeated addresses may take: it sorts all rows of a file. */
const SEARCH_MS = 30 * 60_000

/** So long the rows of one chunk may take. */
const CHUNK_MS = 15_000

/** Forgets what was staged before of an import, but the faults of records that are merged. */
export async function clearStage(pool: Pool, owned: Owned): Promise<void> {
  await inOwnTransaction(
    pool,
    owned,
    async (client, { account_id, id }) => {
      await client.query({ text: 'DELETE FROM import_rows WHERE import_id = $1', values: [id], ...unbounded })
      const faults = `DELETE FROM import_errors e USING contact_imports i
      WHERE i.account_id = $1 AND i.id = $2 AND e.account_id = $1 AND e.import_id = $2 AND e.n > i.merged_through`
      await client.query({ text: faults, values: [account_id, id], ...unbounded })
    },
    unbounded,
  )
}

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

/**
 * Ends the staging of a file: takes out the rows whose address comes earlier, and notes how many records there are.
 *
 * @param error why the file was not read to its end
 */
export async function endStage(pool: Pool, owned: Owned, records: number, error: string | null): Promise<void> {
  await inOwnTransaction(
    pool,
    owned,
    async (client, { account_id, id }) => {
      const repeated = `
      WITH repeated AS MATERIALIZED (
        SELECT * FROM (
          SELECT n, first_value(line) OVER same AS first_line, row_number() OVER same AS times FROM import_rows
          WHERE import_id = $2 WINDOW same AS (PARTITION BY email ORDER BY n)
        ) ranked WHERE times > 1
      ), taken AS (
        DELETE FROM import_rows r USING repeated d WHERE r.import_id = $2 AND r.n = d.n
        RETURNING r.n, r.line, r.email, d.first_line
      )
      INSERT INTO import_errors (account_id, import_id, n, line, email, outcome, message)
      SELECT $1, $2, n, line, email, 'skipped', 'The address is on line ' || first_line || ' already.' FROM taken
      ON CONFLICT DO NOTHING`
      // Statistics of rows that have just come say that there are none: each would be looked for among all others.
      await client.query('SET LOCAL enable_nestloop = off')
      await client.query({ text: repeated, values: [account_id, id], ...unbounded })
      const noted = 'UPDATE contact_imports SET records = $3, error = $4 WHERE account_id = $1 AND id = $2'
      await client.query(noted, [account_id, id, records, error])
    },
    unbounded,
  )
}

/** Removes the staged rows of an import that is merged, some at a time. */
export async function dropStage(pool: Pool, import_id: string): Promise<void> {
  const some = `DELETE FROM import_rows WHERE import_id = $1 AND n = ANY (ARRAY(
    SELECT n FROM import_rows WHERE import_id = $1 ORDER BY n LIMIT 20000))`
  while (((await pool.pg.query(some, [import_id])).rowCount ?? 0) > 0);
}

const unbounded = { query_timeout: SEARCH_MS }

/**
 * A transaction that commits only while we have the lease. COPY is no query of the pool, so it has a connection of its own.
 */
async function inOwnTransaction(
  pool: Pool,
  owned: Owned,
  work: (client: pg.PoolClient, owned: Owned) => Promise<void>,
  { query_timeout } = { query_timeout: CHUNK_MS },
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
    await requireLease(client, owned, '')
    await work(client, owned)
    // Now, and not before the work: meanwhile the lease is extended.
    await requireLease(client, owned, 'FOR SHARE')
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(onError)
    throw error instanceof LostLeaseError || isSound(error) ? error : new NoAnswerError(error as Error, '')
  } finally {
    client.removeListener('error', onError)
    client.release(broken)
  }
}

/** With a lock nobody else takes the lease until the transaction ends. */
async function requireLease(client: pg.PoolClient, { account_id, id, owner }: Owned, lock: '' | 'FOR SHARE') {
  const { rowCount } = await client.query(
    `SELECT FROM contact_imports WHERE account_id = $1 AND id = $2 AND lease_owner = $3 AND status = 'in_progress' ${lock}`,
    [account_id, id, owner],
  )
  if (rowCount === 0) throw new LostLeaseError(`another worker has taken over the import ${id}`)
}

/** Postgres has answered, and did not end the session over it. */
function isSound(error: unknown): boolean {
  return /^(?!57P0[123]|08)/.test(sqlState(error) ?? '08')
}
