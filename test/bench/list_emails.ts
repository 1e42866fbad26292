import pg from 'pg'
import { v7 as uuid } from 'uuid'
import { z } from 'zod'
import { indexEmails } from '#flows/sending/index_emails.ts'
import { sql } from '#sql/pool.ts'
import { type EmailFilters, listEmails } from '#sql/sending/search/email_list.ts'
import { type Cost, fillEmails, measureCost, TEMPLATE_ID } from '#test/bench/support/many_emails.ts'
import { openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'

const SAMPLES = 100
const PATIENCE_MS = 1_000
const GOAL_MS = 20

/** How long a page takes in an account with a million emails, by filter, and the cost of the indexes. */
export async function benchListEmails(): Promise<void> {
  const stage = await openStage()
  try {
    const { id: account_id } = await stage.pool.one(sql.type(z.object({ id: z.string() }))`SELECT id FROM accounts`)
    const client = new pg.Client(stage.config.DATABASE_URL) // without the statement timeout of the pool
    await client.connect()
    const cost = await measureCost(client, account_id)
    printCost('without filters', cost.before)
    printCost('with filters', cost.after)
    await fillEmails(client, account_id)
    await client.end()
    await measureIndexing(stage)
    for (const [name, filters] of Object.entries(cases)) await measureFilter(stage, account_id, name, filters)
    for (const [name, filters] of Object.entries(neverMeet)) {
      await measureFilter(stage, account_id, name, () => filters, WORST_GOAL_MS)
    }
    await stage.pool.run(burst(account_id))
    for (const [name, filters] of Object.entries(afterBurst)) {
      await measureFilter(stage, account_id, `20,000 emails later, ${name}`, () => filters, BURST_GOAL_MS)
    }
  } finally {
    await stage.close()
  }
}

async function measureIndexing({ pool }: Stage): Promise<void> {
  const start = performance.now()
  const count = await indexEmails(pool)
  const rate = (count * 1_000) / (performance.now() - start)
  report('emails indexed', `${rate.toFixed(0)}/s`, '>= 5,000/s', rate >= 5_000)
  await pool.run(sql.unsafe`VACUUM ANALYZE`)
}

function printCost(name: string, { insert_us, update_us, hot }: Cost): void {
  const updates = `${update_us.toFixed(0)} us, ${(hot * 100).toFixed(0)} % of them HOT`
  console.log(`  ${name.padEnd(15)} per email: insert ${insert_us.toFixed(0)} us, change of status ${updates}`)
}

const weeks = (count: number) => new Date(Date.now() - count * 7 * 86_400_000)
const failed = ['failed', 'bounced', 'suppressed']
const status = (...statuses: string[]) => ({ status: { statuses, events: [] } })

/** Created for each sample, since the values differ. */
const cases: Record<string, (i: number) => EmailFilters> = {
  'no filter': () => ({}),
  'status=delivered': () => status('delivered'),
  'status=complained (0.1 %)': () => status('complained'),
  'status=canceled (none)': () => status('canceled'),
  'status=clicked': () => ({ status: { statuses: [], events: ['clicked'] } }),
  'folder=failed': () => ({ folder: failed }),
  'domain of all but a few': () => ({ domain: { name: 'd0.bench.com' } }),
  'domain of the oldest 10 %': () => ({ domain: { name: 'd9.bench.com' } }),
  'domain, status=complained': () => ({ domain: { name: 'd0.bench.com' }, ...status('complained') }),
  'domain of none, status=delivered': () => ({ domain: { name: 'd8.bench.com' }, ...status('delivered') }),
  'q of every email': () => ({ q: 'invoice' }),
  'q of 1 email': i => ({ q: `order ${(i * 9_973) % 1_000_000} ` }),
  'q of no email': i => ({ q: `no such thing ${i}` }),
  'q of no email, of frequent parts': i => ({ q: `invoice order ${i}` }),
  'q of no email, whose runs all emails have': () => ({ q: 'invoice of today' }),
  'q of no email, beyond ASCII': () => ({ q: '李明' }),
  'q of an address': i => ({ q: `user${(i * 997) % 50_000}@` }),
  'q of the beginning of an id': i => ({ q: `0190${i + 1000}-a` }),
  'q of 2 letters, no email': () => ({ q: 'qz' }),
  'q of every email, folder=failed': () => ({ q: 'invoice', folder: failed }),
  'q of every email, status=complained': () => ({ q: 'invoice', ...status('complained') }),
  'q of 1 email, status=delivered': i => ({ q: `order ${(i * 9_973) % 1_000_000} `, ...status('delivered') }),
  'template of 10 %': () => ({ template: { id: TEMPLATE_ID } }),
  'template of no email': () => ({ template: { id: uuid() } }),
  'tag of 30 %': () => ({ tag: 'kind:welcome' }),
  'tag of 0.01 %': () => ({ tag: 'kind:rare' }),
  'from of the oldest 10 %': () => ({ from: 'shop@d9.bench.com' }),
  'to of 3 emails': i => ({ to: `user${(i * 997) % 50_000}@mail3.com` }),
  'created_before 10 weeks ago': () => ({ created_before: weeks(10) }),
  'created in a week, folder=failed': () => ({ created_after: weeks(11), created_before: weeks(10), folder: failed }),
}

/** Frequent values that never occur together: the text of all blocks is read, which is the most that a search does. */
const neverMeet: Record<string, EmailFilters> = {
  'q of 10 %, tag of 30 %, no email': { q: '5 of today', tag: 'kind:welcome' },
  'q of 10 %, status=clicked (5 %), no email': { q: '5 of today', status: { statuses: [], events: ['clicked'] } },
  'q of 1 %, status=bounced (1.8 %), no email': { q: '99 of today', ...status('bounced') },
  'tag of 30 %, domain of 10 %, q of 10 %, no email': {
    ...{ tag: 'kind:welcome', domain: { name: 'd9.bench.com' }, q: '7 of today' },
  },
}
const WORST_GOAL_MS = 1_000

/** Emails that have just arrived are in no block yet. */
const burst = (account_id: string) => sql.unsafe`
  INSERT INTO emails SELECT (jsonb_populate_record(e, jsonb_build_object('id', uuidv7()))).*
  FROM emails e WHERE account_id = ${account_id} LIMIT 20000
`
const afterBurst: Record<string, EmailFilters> = {
  'q of no email': { q: 'no such thing' },
  'q of 1 email': { q: 'order 500000 ' },
  'tag of 0.01 %': { tag: 'kind:rare' },
}
const BURST_GOAL_MS = 100

async function measureFilter(
  { pool }: Stage,
  account_id: string,
  name: string,
  filters: (i: number) => EmailFilters,
  goal_ms = GOAL_MS,
): Promise<void> {
  const { id: deep } = await pool.one(sql.type(z.object({ id: z.string() }))`
    SELECT id FROM emails WHERE account_id = ${account_id} ORDER BY id LIMIT 1 OFFSET 300000
  `)
  const times = { first: [] as number[], deep: [] as number[] }
  const limit = performance.now() + PATIENCE_MS
  for (let i = -2; i < 1 || (i < SAMPLES && performance.now() < limit); i++) {
    for (const page of ['first', 'deep'] as const) {
      const start = performance.now()
      await listEmails(pool, account_id, { limit: 20, after: page === 'deep' ? deep : undefined }, filters(i + 5))
      if (i >= 0) times[page].push(performance.now() - start)
    }
  }
  const figures = (list: number[]) => `p50 ${percentile(list, 0.5).toFixed(1)} p99 ${percentile(list, 0.99).toFixed(1)}`
  const worst = Math.max(percentile(times.first, 0.99), percentile(times.deep, 0.99))
  const value = `first page ${figures(times.first)}, deep page ${figures(times.deep)} ms`
  report(name, value, `p99 < ${goal_ms} ms`, worst < goal_ms)
}
