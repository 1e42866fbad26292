import type { Pool } from '#sql/pool.ts'

/** Every row of every table, including the job queue, as text; bytea appears twice, in hex and decoded. */
export async function dumpTables(pool: Pool): Promise<Map<string, string>> {
  const { rows: tables } = await pool.pg.query(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  )
  const dumps = tables.map(async ({ name }) => {
    const { rows } = await pool.pg.query(`SELECT t::text AS row FROM ${name} t`)
    const text = rows.map(({ row }) => row).join('\n')
    const bytes = Array.from(text.matchAll(/\\x([0-9a-f]+)/g), ([, hex]) => Buffer.from(hex as string, 'hex'))
    return [name, [text, ...bytes.map(String)].join('\n')] as const
  })
  return new Map(await Promise.all(dumps))
}

/** Forms in which a secret may be written: plain, in a URL, in hex, or inside longer base64. */
export function formsOf(secret: string | Buffer): string[] {
  const bytes = Buffer.from(secret as string)
  const inBase64 = [0, 1, 2].flatMap(before => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes])
    // Without the characters that depend on neighboring bytes.
    return ['base64', 'base64url'].map(name => padded.toString(name as 'base64').slice(Math.ceil((before * 4) / 3), -4))
  })
  const asText = typeof secret === 'string' ? [secret, encodeURIComponent(secret)] : []
  return [...asText, bytes.toString('hex'), ...inBase64]
}
