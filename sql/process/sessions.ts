import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** How long Postgres waits for a backend to end; a backend checks for this at every step of a statement. */
const GONE_MS = 1_000

/**
 * Ends the backend of a lost connection, and waits until it is gone: whatever it was doing is then either committed and
 * visible to the next statement, or undone for good. Returns false if it is still running. A role needs no further
 * privilege to end its own backends.
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
