import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'

/** Returns the time of the database's clock, in ms since 1970. */
export async function readClock(tx: Tx): Promise<number> {
  const { time } = await tx.one(sql.type(z.object({ time: z.number() }))`
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time
  `)
  return time
}
