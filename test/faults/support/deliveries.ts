import { waitUntil } from '#test/support/wait_until.ts'
import type { Database } from './stage.ts'

/** The number of deliveries in each state, and of those marked as having been in doubt. */
export async function countStates(stage: Database): Promise<Record<string, number>> {
  const { rows } = await stage.pool.pg.query<{ state: string; count: number }>(
    `SELECT state, count(*)::int AS count FROM deliveries GROUP BY state
     UNION ALL SELECT 'ever_in_doubt', count(*)::int FROM deliveries WHERE in_doubt_count > 0`,
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

/** Deliveries past their fence at this moment, which a kill would leave in doubt. */
export async function listBeyondFence(stage: Database): Promise<string[]> {
  const { rows } = await stage.pool.pg.query<{ id: string }>(`SELECT id FROM deliveries WHERE phase = 'dot'`)
  return rows.map(row => row.id)
}

/** Waits until no delivery is in one of these states; returns the seconds it took. */
export async function waitForNone(stage: Database, states: string[], ms = 60_000): Promise<number> {
  const start = performance.now()
  const isDone = async () => {
    const { rowCount } = await stage.pool.pg.query('SELECT FROM deliveries WHERE state = ANY($1) LIMIT 1', [states])
    return rowCount === 0
  }
  await waitUntil(isDone, async () => `none is ${states}: ${JSON.stringify(await countStates(stage))}`, ms)
  return Number(((performance.now() - start) / 1_000).toFixed(1))
}

/** Makes deliveries that are in doubt or deferred due, as if a quarter of an hour had passed. */
export async function makeAllDue(stage: Database): Promise<void> {
  await stage.pool.pg.query(
    `UPDATE deliveries SET next_at = now() WHERE state IN ('queued', 'in_doubt') AND next_at IS NOT NULL`,
  )
}

export async function countLockedJobs(stage: Database): Promise<number> {
  const { rows } = await stage.pool.pg.query(
    'SELECT count(*)::int AS count FROM graphile_worker.jobs WHERE locked_by IS NOT NULL',
  )
  return rows[0].count
}
