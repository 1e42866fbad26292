import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sql } from '#sql/pool.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { acceptEmail, openWork, readEmail, TEST_TIMES } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const timeouts = { connect: 5_000, message: 5_000, dot: 5_000 }

t.test('a stop releases deliveries before their dot, and waits for others', async t => {
  const sink = await open(t)
  // Without the stop, the others would end at this timeout and count as an attempt.
  const patient = { times: { ...TEST_TIMES, drain_ms: 30_000 }, timeouts: { ...timeouts, message: 20_000 } }
  const work = openWork(t, world, sink.url, patient)
  const before = await acceptAll(['dribble-1', 'dribble-2', ...Array.from({ length: 60 }, (_, i) => `dribble-${i}`)])
  const after = await acceptAll(
    Array.from({ length: 5 }, (_, i) => `slow250-700-${i}`),
    'z.com',
  )
  await send_emails({ email_ids: [...before, ...after] }, work)
  await waitUntil(() => sink.messages >= 5, '5 messages have arrived')

  await work.sender.stop()
  t.strictSame(await countStates(after), { 'delivered 1': 5 })
  t.strictSame(await countStates(before), { 'queued 0': before.length })
  for (const id of before.slice(0, 2)) {
    shows(t, await readEmail(world, account, id), {
      status: 'queued',
      events: [],
      queue: [{ attempts: 0, reason: 'The worker stopped.' }],
    })
  }
  t.equal(sink.messages, 5)
})

t.test('a stop before a connection is ready, and a repeated stop, release all', async t => {
  const sink = await open(t, 'dribble')
  const work = openWork(t, world, sink.url, { timeouts })
  const ids = await acceptAll(['ok-1', 'ok-2'])
  await send_emails({ email_ids: ids }, work)
  await waitUntil(() => sink.connections > 0, 'a connection is open')
  await Promise.all([work.sender.stop(), work.sender.stop()])
  await work.sender.stop()
  t.strictSame(await countStates(ids), { 'queued 0': 2 })

  await send_emails({ email_ids: ids }, work)
  t.strictSame(await countStates(ids), { 'queued 0': 2 }, 'it claims no more')
})

t.test('a reply that misses the drain leaves its delivery in doubt', async t => {
  const sink = await open(t)
  const work = openWork(t, world, sink.url, { times: { ...TEST_TIMES, drain_ms: 300 }, timeouts })
  const ids = await acceptAll(['hang-post-dot-1', 'hang-post-dot-2'])
  await send_emails({ email_ids: ids }, work)
  await waitUntil(() => sink.messages >= 2, 'both messages have arrived')
  await work.sender.stop()
  t.strictSame(await countStates(ids), { 'in_doubt 1': 2 })
})

t.test('a stop that begins while a claim waits for Postgres releases what it claims', async t => {
  const sink = await open(t)
  const { sender } = openWork(t, world, sink.url)
  const ids = await acceptAll(Array.from({ length: 20 }, (_, i) => `ok-${i}`))
  const holder = await begin(world, tx => tx.run(sql.unsafe`LOCK TABLE deliveries`))
  const offered = sender.offer(ids)
  await untilBlocked(world)
  const stopped = sender.stop()
  await holder.commit()
  await Promise.all([offered, stopped])
  const { rows } = await world.pool.pg.query(
    'SELECT DISTINCT state, attempt, reason FROM deliveries WHERE email_id = ANY ($1)',
    [ids],
  )
  t.strictSame(rows, [{ state: 'queued', attempt: 0, reason: 'The worker stopped.' }])
  t.equal(sink.messages, 0)
})

t.test('a stop at any moment of a claim leaves nothing that is being sent', async t => {
  const sink = await open(t)
  for (const wait of [0, 1, 2, 3, 5, 8, 13]) {
    const { sender } = openWork(t, world, sink.url)
    const ids = await acceptAll(Array.from({ length: 20 }, (_, i) => `ok-${i}`))
    sender.start()
    const offered = sender.offer(ids)
    await sleep(wait)
    await sender.stop()
    await offered
    const { 'queued 0': queued = 0, 'delivered 1': delivered = 0, ...others } = await countStates(ids)
    t.strictSame([queued + delivered, others], [20, {}], `after ${wait} ms`)
  }
  const { rows } = await world.pool.pg.query(`SELECT * FROM deliveries WHERE state IN ('delivered', 'sending')`)
  const delivered = rows.filter(row => row.state === 'delivered' && /^ok/.test(row.recipient))
  t.equal(sink.messages, delivered.length, 'what was sent is known')
  t.strictSame(
    rows.filter(row => row.state === 'sending'),
    [],
  )
})

async function open(t: Test, greeting?: string) {
  const sink = await openSink(t, greeting ? { greeting } : {})
  return sink
}

function acceptAll(locals: string[], domain = 'y.com'): Promise<string[]> {
  return Promise.all(locals.map(local => acceptEmail(world, account, { to: `${local}@${domain}` })))
}

async function countStates(ids: string[]): Promise<Record<string, number>> {
  const { rows } = await world.pool.pg.query(
    `SELECT state || ' ' || attempt AS state, count(*) FROM deliveries WHERE email_id = ANY($1) GROUP BY 1`,
    [ids],
  )
  return Object.fromEntries(rows.map(row => [row.state, Number(row.count)]))
}
