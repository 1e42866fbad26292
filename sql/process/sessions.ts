import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Postgres waits so long for a backend to be gone; it looks for its end at every step of a statement. */
const GONE_MS = 1_000

/**
 * Ends the backend of a connection that was lost, and waits until it is gone: whatever it was doing is then committed and
 * seen by the next statement, or undone for ever. Answers false when it is still there. The same role may end it.
 */
export async function endSession(db: Queryable, session: string): Promise<boolean> {
  await db.run(sql.unsafe`
    SELECT pg_terminate_backend(pid, ${GONE_MS}) FROM pg_stat_activity WHERE application_name = ${session}
  `)
  const { is_gone } = await db.one(sql.type(z.object({ is_gone: z.boolean() }))`
    SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = ${session}) AS is_gone
  `)
  return is_gone
}
