import pg from 'pg'
import { z } from 'zod'
import { sql } from '#sql/pool.ts'
import type { ReceivedEmailFilters } from '#sql/receiving/received_email_filters.ts'
import { listReceivedEmails } from '#sql/receiving/received_email_list.ts'
import { openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'

const COUNT = 1_000_000
const SAMPLES = 100
const PATIENCE_MS = 1_000
const GOAL_MS = 20
const WORST_GOAL_MS = 1_000
const PAGE = 20
const CEILING = 1_000

type Case = (i: number) => ReceivedEmailFilters

/** Created for each sample, since the values differ. */
const cases: Record<string, Case> = {
  'no filter': () => ({}),
  'to of all': () => ({ to: 'support@d0.bench.com' }),
  'to of 20': i => ({ to: `user${(i * 997) % 50_000}@d0.bench.com` }),
  'to of none': () => ({ to: 'nobody@d0.bench.com' }),
  'from of 10': i => ({ from: `ann${(i * 997) % 100_000}@mail3.com` }),
  'from of half': () => ({ from: 'robot@y.com' }),
  'read=true (half)': () => ({ read: true }),
  'read=false (half)': () => ({ read: false }),
  'category=interested (0.1 %)': () => ({ category: 'interested' }),
  'category=not_interested (none)': () => ({ category: 'not_interested' }),
  'category=none': () => ({ category: 'none' }),
  'domain of all but a few': () => ({ domain: { name: 'd0.bench.com' } }),
  'domain of the oldest 10 %': () => ({ domain: { name: 'd9.bench.com' } }),
  'domain of all but a few, read=false': () => ({ domain: { name: 'd0.bench.com' }, read: false }),
  'to of all, from of 10': i => ({ to: 'support@d0.bench.com', from: `ann${(i * 997) % 100_000}@mail3.com` }),
  'to of 20, from of half': i => ({ to: `user${(i * 997) % 50_000}@d0.bench.com`, from: 'robot@y.com' }),
  'to of 20, read=false': i => ({ to: `user${(i * 997) % 50_000}@d0.bench.com`, read: false }),
  'to of all, read=false': () => ({ to: 'support@d0.bench.com', read: false }),
  'to of all, domain of all but a few': () => ({ to: 'support@d0.bench.com', domain: { name: 'd0.bench.com' } }),
  'to of all, category=not_interested (none)': () => ({ to: 'support@d0.bench.com', category: 'not_interested' }),
  'q of all': () => ({ q: 'invoice' }),
  'q of none, from of 10': i => ({ q: 'no such thing', from: `ann${(i * 997) % 100_000}@mail3.com` }),
}

/** Frequent values that never occur together, and text in no email: the most that a list ever reads. */
const slow: Record<string, ReceivedEmailFilters> = {
  'q of none': { q: 'no such thing' },
  'q of none, to of all': { q: 'no such thing', to: 'support@d0.bench.com' },
  'q of none, beyond ASCII': { q: '李明' },
  'from of half, read=true (the other half)': { from: 'robot@y.com', read: true },
}

/** How long a page takes in an account with a million received emails, by filter. */
export async function benchListReceived(): Promise<void> {
  const stage = await openStage()
  try {
    const { id: account_id } = await stage.pool.one(sql.type(z.object({ id: z.string() }))`SELECT id FROM accounts`)
    const client = new pg.Client(stage.config.DATABASE_URL) // without the statement timeout of the pool
    await client.connect()
    for (const statement of filling(account_id)) await client.query(statement)
    await client.end()
    for (const [name, filters] of Object.entries(cases)) await measure(stage, account_id, name, filters, GOAL_MS)
    for (const [name, filters] of Object.entries(slow)) {
      await measure(stage, account_id, name, () => filters, WORST_GOAL_MS)
    }
    for (const name of ['no filter', 'to of all', 'to of all, read=false', 'to of 20, from of half']) {
      await measure(stage, account_id, `1,000 of ${name}`, cases[name] as Case, WORST_GOAL_MS, CEILING)
    }
  } finally {
    await stage.close()
  }
}

/** Half of them from one sender and unread; all to one address, and each to one of 50,000. */
function filling(account_id: string): string[] {
  return [
    `INSERT INTO domains (account_id, id, name)
     SELECT '${account_id}', gen_random_uuid(), 'd' || n || '.bench.com' FROM generate_series(0, 9) AS n`,
    'SET session_replication_role = replica',
    `INSERT INTO received_emails (account_id, id, domain_id, state, mail_from, received_for, client, sha256, size, sender,
       "to", subject, category, read_at, created_at)
     SELECT '${account_id}', uuidv7(shift), d.id, 'parsed', sender, ARRAY['support@d0.bench.com'], '{}', '', 1, sender,
       ARRAY['user' || n % 50000 || '@d0.bench.com'], 'Invoice ' || left(md5(n::text), 8) || ' for order ' || n,
       CASE WHEN n % 1000 = 1 THEN 'interested' END, CASE WHEN n % 2 = 0 THEN now() END, now() + shift
     FROM generate_series(1, ${COUNT}) AS n
     CROSS JOIN LATERAL (SELECT (n - ${COUNT}) * interval '7.2 seconds' AS shift,
       CASE WHEN n % 2 = 1 THEN 'robot@y.com' ELSE 'ann' || n % 100000 || '@mail3.com' END AS sender,
       CASE WHEN n < ${COUNT / 10} THEN 'd9.bench.com' ELSE 'd0.bench.com' END AS domain) AS v
     LEFT JOIN domains d ON d.account_id = '${account_id}' AND d.name = domain`,
    `INSERT INTO received_recipients (account_id, received_email_id, address)
     SELECT account_id, id, unnest("to" || received_for) FROM received_emails`,
    'VACUUM ANALYZE',
  ]
}

async function measure(
  { pool }: Stage,
  account_id: string,
  name: string,
  filters: Case,
  goal_ms: number,
  limit = PAGE,
): Promise<void> {
  const { id: deep } = await pool.one(sql.type(z.object({ id: z.string() }))`
    SELECT id FROM received_emails WHERE account_id = ${account_id} ORDER BY id LIMIT 1 OFFSET 300000
  `)
  const times: number[] = []
  const end = performance.now() + PATIENCE_MS
  for (let i = -2; i < 1 || (i < SAMPLES && performance.now() < end); i++) {
    for (const after of [undefined, deep]) {
      const start = performance.now()
      await listReceivedEmails(pool, account_id, { limit, after }, 'http://127.0.0.1', filters(i + 5))
      if (i >= 0) times.push(performance.now() - start)
    }
  }
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
  report(name, `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`, `p99 < ${goal_ms} ms`, p99 < goal_ms)
}
