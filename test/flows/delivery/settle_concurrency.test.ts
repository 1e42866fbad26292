import t from 'tap'
import { v7 as uuid } from 'uuid'
import { sweepDeliveries } from '#flows/delivery/recover_deliveries.ts'
import { claimDeliveries, type DeliveryResult, settleDeliveries, type Token } from '#sql/delivery/deliveries.ts'
import { extendLeases, fenceDeliveries } from '#sql/delivery/leases.ts'
import { acceptEach } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool, log, config } = world
const account = await newAccount(world)

type Claimed = Token & { email_id: string; recipient: string }

t.test('an email has the right status after its recipients are settled concurrently in batches', async t => {
  const ids = await acceptMany(300, ['a@y.com', 'b@y.com'])
  const tokens = await claim(ids, 600)
  const side = (address: string, outcome: DeliveryResult['outcome']) =>
    shuffle(tokens.filter(token => token.recipient === address)).map(token => ({ ...token, outcome }))
  const [as, bs] = [side('a@y.com', 'delivered'), side('b@y.com', 'bounced')]
  for (let at = 0; at < 300; at += 20) {
    const batches = [as, bs].map(results => settleDeliveries(pool, results.slice(at, at + 20)))
    await Promise.all(batches)
  }
  const { rows } = await pool.pg.query('SELECT status, count(*)::int FROM emails WHERE id = ANY($1) GROUP BY 1', [ids])
  t.strictSame(rows, [{ status: 'bounced', count: 300 }])
})

t.test('an email has the right status after its recipients are settled concurrently', async t => {
  const ids = await acceptMany(100, ['a@y.com', 'b@y.com'])
  for (const id of ids) {
    const [one, other] = await claim([id], 2)
    if (!one || !other) throw new Error('nothing was claimed')
    await Promise.all([one, other].map(token => settleDeliveries(pool, [{ ...token, outcome: 'bounced' }])))
  }
  const { rows } = await pool.pg.query('SELECT status, count(*)::int FROM emails WHERE id = ANY($1) GROUP BY 1', [ids])
  t.strictSame(rows, [{ status: 'bounced', count: 100 }])
})

t.test('claims, fences, heartbeats, results and sweeps never deadlock', async t => {
  const to = Array.from({ length: 10 }, (_, i) => `u${i}@y.com`)
  const ids = await acceptMany(40, to)
  const held: Claimed[] = []
  const some = (count: number) => shuffle(held).slice(0, count)
  const outcomes = ['deferred', 'released', 'deferred', 'delivered'] as const
  const acts: (() => Promise<unknown>)[] = [
    async () => held.push(...(await claim(ids, 100))),
    () => fenceDeliveries(pool, some(60), 40),
    () => extendLeases(pool, some(200), 40),
    () => settle(some(60)),
    () => settle(some(60)),
    () => pool.pg.query(EXPIRE_SOME).then(() => sweepDeliveries(pool, log, config)),
  ]
  const settle = (tokens: Claimed[]) => {
    for (const token of tokens) held.splice(held.indexOf(token), 1)
    return settleDeliveries(
      pool,
      tokens.map((token, i) => ({ ...token, outcome: outcomes[i % 30] ?? 'deferred', delay: 0 })),
    )
  }

  const until = performance.now() + 2_000
  const failures: unknown[] = []
  let statements = 0
  const hammer = async (act: () => Promise<unknown>) => {
    for (; performance.now() < until; statements++) await act().catch(error => failures.push(error))
  }
  await Promise.all([...acts, ...acts.slice(1)].map(hammer))
  t.strictSame(failures, [])
  t.ok(statements > 100, `${statements} statements`)
  await pool.pg.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await pool.pg.query('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()')
  t.strictSame(rows, [{ deadlocks: 0 }])
})

const EXPIRE_SOME = `
  WITH picked AS (SELECT account_id, id FROM deliveries WHERE state = 'sending' AND random() < 0.1 ORDER BY id FOR NO KEY UPDATE)
  UPDATE deliveries d SET lease_until = now() - interval '1 ms', lost_count = 0
  FROM picked WHERE d.account_id = picked.account_id AND d.id = picked.id`

function acceptMany(count: number, to: string[]): Promise<string[]> {
  return acceptEach(world, account, Array(count).fill({ to }))
}

function claim(email_ids: string[], limit: number): Promise<Claimed[]> {
  return claimDeliveries(pool, { lease_owner: uuid(), lease_seconds: 40, limit, email_ids })
}

function shuffle<T>(items: T[]): T[] {
  return items
    .map(item => ({ item, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}
