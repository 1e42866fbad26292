import pg from 'pg'
import { invariants } from './invariants.ts'
import type { Entry } from './sink_ledger.ts'

export type Violation = { invariant: string; count: number; first: unknown }

const ROWS_AT_ONCE = 5_000

/**
 * Checks what must hold after every fault: each invariant is a query that must return no rows. `sent` is everything that the
 * sink has accepted; `answered` are the ids in responses with 200.
 */
export async function findViolations(
  database_url: string,
  { sent, answered = [] }: { sent?: Entry[]; answered?: string[] } = {},
): Promise<Violation[]> {
  const client = new pg.Client({ connectionString: database_url })
  await client.connect()
  try {
    await client.query('CREATE TEMP TABLE answered (id uuid)')
    await client.query('INSERT INTO answered SELECT unnest($1::uuid[])', [answered])
    await client.query('CREATE TEMP TABLE sent (message_id text, rcpt text, message_sha256 text)')
    for (let n = 0; sent && n < sent.length; n += ROWS_AT_ONCE) {
      const rows = JSON.stringify(sent.slice(n, n + ROWS_AT_ONCE))
      await client.query('INSERT INTO sent SELECT * FROM jsonb_populate_recordset(NULL::sent, $1)', [rows])
    }
    await client.query(`UPDATE sent SET message_id = btrim(message_id, '<>')`)
    await client.query('ANALYZE')
    const violations: Violation[] = []
    for (const { name, query, needs_sent } of invariants) {
      if (needs_sent && !sent) continue
      const { rows } = await client.query(query)
      if (rows.length > 0) violations.push({ invariant: name, count: rows.length, first: rows[0] })
    }
    return violations
  } finally {
    await client.end()
  }
}
