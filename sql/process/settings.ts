import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const Setting = z.object({ value: z.instanceof(Buffer) })

export async function findSetting(db: Queryable, name: string): Promise<Buffer | null> {
  const row = await db.maybeOne(sql.type(Setting)`SELECT value FROM settings WHERE name = ${name}`)
  return row?.value ?? null
}

/** Keeps the first value: if two processes start at the same time, both read what the first one wrote. */
export async function insertSetting(db: Queryable, name: string, value: Buffer): Promise<void> {
  await db.run(sql.unsafe`
    INSERT INTO settings (name, value) VALUES (${name}, ${sql.binary(value)}) ON CONFLICT (name) DO NOTHING
  `)
}
