import type { Test } from 'tap'
import type { Foundation } from '#flows/process/run_process.ts'
import type { Tx } from '#sql/pool.ts'
import { waitUntil } from '#test/support/wait_until.ts'

type Database = Pick<Foundation, 'pool'>

/** Waits until a statement of this database waits for a lock of another transaction. `like`: a pattern of its text. */
export async function untilBlocked({ pool: { pg } }: Database, like = '%'): Promise<void> {
  const query = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`
  await waitUntil(async () => (await pg.query(query, [like])).rowCount, `a statement like ${like} waits for a lock`)
}

/**
 * Begins a transaction for SQL of a test. If the test ends before it, by a failure for example, it is rolled back: a
 * connection that is never released would keep the whole group of tests from ending.
 */
export async function openTransaction(t: Test, { pool: { pg } }: Database) {
  const client = await pg.connect()
  let open = true
  const end = async (statement: 'COMMIT' | 'ROLLBACK') => {
    if (!open) return
    open = false
    await client.query(statement).finally(() => client.release(true))
  }
  t.teardown(() => end('ROLLBACK'))
  await client.query('BEGIN')
  return {
    query: (text: string, values: unknown[] = []) => client.query(text, values),
    commit: () => end('COMMIT'),
    rollback: () => end('ROLLBACK'),
  }
}

/** Works in a transaction that stays open until `commit`. */
export async function begin({ pool }: Database, work: (tx: Tx) => Promise<unknown>) {
  const { promise: open, resolve: end } = Promise.withResolvers<void>()
  const { promise: done, resolve: isDone } = Promise.withResolvers<unknown>()
  const ended = pool.transaction(async tx => {
    isDone(await work(tx))
    await open
  })
  await Promise.race([done, ended])
  return {
    commit: () => {
      end()
      return ended
    },
  }
}
