import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const EVERY_MS = 3

type Look = { at: number; holder: string | null }

/**
 * Polls, until `isOver`, which transaction has the exclusive contact lock of an account. Returns how many milliseconds each one had
 * it: from the middle between the first poll that found it and the one before, to the middle between the last such poll and the
 * one after.
 */
export async function watchContactLock(
  database_url: string,
  account_id: string,
  isOver: () => boolean,
): Promise<number[]> {
  const client = new pg.Client({ connectionString: database_url })
  await client.connect()
  const looks: Look[] = []
  try {
    while (!isOver()) {
      looks.push(await look(client, account_id))
      await sleep(EVERY_MS)
    }
  } finally {
    await client.end()
  }
  return holdsOf(looks)
}

function holdsOf(looks: Look[]): number[] {
  const middle = (n: number) => ((looks[n - 1] as Look).at + (looks[n] as Look).at) / 2
  const holds: number[] = []
  for (let n = 1, since = 0; n < looks.length; n++) {
    const [before, now] = [looks[n - 1]?.holder, looks[n]?.holder]
    if (before === now) continue
    if (before && since > 0) holds.push(middle(n) - since)
    since = middle(n)
  }
  return holds
}

/** Uses the clock of the server. The key is that of sql/contacts/lock_contacts.sql; pg_locks shows it in two halves. */
async function look(client: pg.Client, account_id: string): Promise<Look> {
  const { rows } = await client.query<Look>({
    name: 'look',
    text: `SELECT extract(epoch FROM clock_timestamp())::float * 1000 AS at, (
        SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
          AND (classid::bigint << 32 | objid::bigint) = hashtextextended('contacts ' || $1, 0)
      ) AS holder`,
    values: [account_id],
  })
  return rows[0] as Look
}
