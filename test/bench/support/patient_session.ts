import type { QueryResult } from 'pg'
import type { Pool } from '#sql/pool.ts'

/** Longest time of a statement. pg would take 0 for the limit of the pool. */
const LIMIT_MS = 600_000

type Run = (text: string, values?: unknown[]) => Promise<QueryResult>

/** Runs statements on a connection of their own, for which the limits of the pool are too short. */
export async function inPatientSession<T>({ pg }: Pool, work: (run: Run) => Promise<T>): Promise<T> {
  const client = await pg.connect()
  const run: Run = (text, values = []) => client.query({ text, values, query_timeout: LIMIT_MS } as never)
  try {
    await run(`SET statement_timeout = ${LIMIT_MS}`)
    return await work(run)
  } finally {
    client.release(true)
  }
}
