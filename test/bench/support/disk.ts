import { setTimeout as sleep } from 'node:timers/promises'
import { report, type Stage } from './stage.ts'

const GOAL_BYTES = 2_000
/** Tables that take less per recipient are not listed. */
const LEAST_BYTES = 10
/** The worker indexes emails a few seconds after they are stored. */
const INDEXED_MS = 12_000

/** Reports the disk space per recipient, where `act` sends to `count` recipients. */
export async function measureDisk(stage: Stage, count: number, act: () => Promise<unknown>): Promise<void> {
  const before = await readSizes(stage)
  await act()
  await sleep(INDEXED_MS)
  const after = await readSizes(stage)
  const per = (bytes: number) => Math.round(bytes / count)
  const parts = [...after.tables]
    .map(([name, bytes]) => ({ name, bytes: per(bytes - (before.tables.get(name) ?? 0)) }))
    .filter(({ bytes }) => bytes >= LEAST_BYTES)
    .toSorted((a, b) => b.bytes - a.bytes)
  for (const { name, bytes } of parts) console.log(`  ${name.padEnd(34)} ${bytes} bytes per recipient`)
  const total = per(after.total - before.total)
  report('disk per recipient', `${total} bytes`, `< ${GOAL_BYTES} bytes`, total < GOAL_BYTES)
}

/** The size of each table with its indexes, and of the database. */
async function readSizes({ pool }: Stage): Promise<{ total: number; tables: Map<string, number> }> {
  await pool.pg.query('VACUUM')
  const { rows } = await pool.pg.query<{ name: string; bytes: string }>(`
    SELECT coalesce(pg_partition_root(c.oid), c.oid)::regclass::text AS name, sum(pg_total_relation_size(c.oid)) AS bytes
    FROM pg_class c WHERE c.relkind = 'r' GROUP BY 1
  `)
  const { rows: total } = await pool.pg.query('SELECT pg_database_size(current_database()) AS bytes')
  return { total: Number(total[0].bytes), tables: new Map(rows.map(({ name, bytes }) => [name, Number(bytes)])) }
}
