import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const EVERY_MS = 3

/**
 * Looks, until `isOver`, who has an account's contact lock to itself. Returns for each transaction that was seen with it how
 * many milliseconds it had it at most: from the look before the first that found it there to the look after the last.
 */
export async function watchContactLock(
  database_url: string,
  account_id: string,
  isOver: () => boolean,
): Promise<number[]> {
  const client = new pg.Client({ connectionString: database_url })
  await client.connect()
  const holds: number[] = []
  let held: { by: string; since: number } | null = null
  let before = performance.now()
  try {
    while (!isOver()) {
      const by = await holderOf(client, account_id)
      const now = performance.now()
      if (held && held.by !== by) {
        holds.push(now - held.since)
        held = null
      }
      if (by !== null) held ??= { by, since: before }
      before = now
      await sleep(EVERY_MS)
    }
  } finally {
    await client.end()
  }
  return holds
}

/** The key of sql/contacts/lock_contacts.sql; pg_locks shows its halves. */
async function holderOf(client: pg.Client, account_id: string): Promise<string | null> {
  const { rows } = await client.query<{ holder: string }>({
    name: 'holder',
    text: `SELECT virtualtransaction AS holder FROM pg_locks, hashtextextended('contacts ' || $1, 0) AS key
      WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
        AND (classid::bigint << 32 | objid::bigint) = key`,
    values: [account_id],
  })
  return rows[0]?.holder ?? null
}
