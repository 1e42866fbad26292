import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { v7 as uuid } from 'uuid'
import { DeliveryStore } from '#flows/delivery/fence_and_settle.ts'
import { sweepDeliveries } from '#flows/delivery/recover_deliveries.ts'
import { Semaphore } from '#lib/async/semaphore.ts'
import { type ClaimedDelivery, claimDeliveries } from '#sql/delivery/deliveries.ts'
import { createPool } from '#sql/pool.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { startSink } from '#test/faults/support/sink.ts'
import { endLeases } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail, TEST_TIMES } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

t.test('results wait while the database is away, and are written once', async t => {
  const { proxy, sink, work } = await open(t)
  const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => accept(`slow250-1000-${i}@y${i % 2}.com`)))
  await send_emails({ email_ids: ids }, work)
  await waitUntil(() => sink.messages >= 20, '20 messages have arrived')
  proxy.refuse(true)
  proxy.cut()
  await sleep(1_400)
  t.match(await countStates(ids), { 'sending dot': 20 })

  const back_at = Date.now()
  proxy.refuse(false)
  await work.sender.idle()
  t.strictSame(await countStates(ids), { delivered: 20 })
  for (const id of ids) {
    const { events } = await readEmail(world, account, id)
    t.equal(events.length, 2)
    // The time of the reply, not when it could be written.
    for (const { created_at } of events) t.ok(created_at.getTime() < back_at)
  }
  t.equal(sink.messages, 20)
})

t.test('a result is written once if the reply of Postgres was lost', async t => {
  const { proxy, sink, work } = await open(t)
  const id = await accept('perm-550@y.com')
  const cut = proxy.cutReply('settle_deliveries')
  await deliverEmails(work, [id])
  await cut
  shows(t, await readEmail(world, account, id), { status: 'bounced', events: [{ type: 'bounced' }] })
  t.equal((await readEmail(world, account, id)).events.length, 1)
  t.equal(sink.connections, 1)
})

t.test('the final dot is not sent if the fence reply was lost', async t => {
  for (const lose of ['cutRequest', 'cutReply'] as const) {
    const { proxy, sink, work } = await open(t)
    const id = await accept('ok@y.com')
    const cut = proxy[lose]('fence_deliveries')
    await deliverEmails(work, [id])
    await cut
    const queue = [{ state: 'queued', attempts: 0, reason: /^The message was not ended: / }]
    shows(t, await readEmail(world, account, id), { status: 'queued', events: [], queue }, lose)
    t.equal(sink.messages, 0)

    await deliverEmails(work, [id])
    shows(t, await readEmail(world, account, id), { status: 'delivered' })
    t.equal(sink.messages, 1)
  }
})

t.test('deliveries of a claim whose reply was lost are released by the sweep', async t => {
  const { proxy, sink, work } = await open(t)
  const id = await accept('ok@y.com')
  const cut = proxy.cutReply('claim_deliveries')
  await t.rejects(send_emails({ email_ids: [id] }, work), 'the job is tried again')
  await cut
  t.strictSame(await countStates([id]), { 'sending pre': 1 })
  await endLeases(world, [id])
  await sweepDeliveries(world.pool, world.log, world.config)
  await deliverEmails(work, [id])
  shows(t, await readEmail(world, account, id), { status: 'delivered' })
  t.equal(sink.messages, 1)
})

t.test('a stop ends without the database; the sweep marks deliveries in doubt', async t => {
  const { proxy, sink, work } = await open(t, { ...TEST_TIMES, drain_ms: 500 })
  const ids = await Promise.all([accept('slow250-400@y.com'), accept('hang-post-dot@y.com')])
  await send_emails({ email_ids: ids }, work)
  await waitUntil(() => sink.messages >= 2, 'both messages have arrived')
  proxy.refuse(true)
  proxy.cut()
  await work.sender.stop()
  t.strictSame(await countStates(ids), { 'sending dot': 2 })

  await endLeases(world, ids)
  await sweepDeliveries(world.pool, world.log, world.config)
  t.strictSame(await countStates(ids), { in_doubt: 2 })
})

/** Accepts three emails and claims their deliveries. */
async function claimThree() {
  const ids = await Promise.all([accept('a@y.com'), accept('b@y.com'), accept('c@y.com')])
  const options = { lease_owner: uuid(), lease_seconds: 5, limit: 3, email_ids: ids }
  return { ids, claimed: (await claimDeliveries(world.pool, options)) as Claimed }
}

t.test('fence() waits for a place, and giving up waiting frees it', async t => {
  const store = new DeliveryStore(world.pool, world.log, { lease_seconds: 5, slots: 40 })
  const { ids, claimed } = await claimThree()
  const [first, second, third] = claimed
  const places = new Semaphore(1)
  const fences = [first, second, third].map(token => store.fence(token, places))
  t.equal(await fences[0], 'allowed')
  await store.settle(second, { outcome: 'released', reason: 'Stopped.' })
  t.strictSame(await countStates(ids), { 'sending dot': 1, 'sending pre': 1, queued: 1 })
  await store.settle(first, { outcome: 'delivered', reply: '250 OK', via: 'relay' })
  t.strictSame(await Promise.all(fences), ['allowed', 'lost', 'allowed'])
})

t.test('other mail gets a place before bulk mail that has waited longer', async t => {
  const store = new DeliveryStore(world.pool, world.log, { lease_seconds: 5, slots: 40 })
  const { claimed } = await claimThree()
  const [first, second, third] = claimed
  const places = new Semaphore(1)
  const order: string[] = []
  const [bulk, other] = [{ ...second, priority: 10 }, third]
  await store.fence(first, places)
  const fences = [bulk, other].map(token => store.fence(token, places).then(() => order.push(token.id)))
  for (const token of [first, other, bulk]) {
    await waitUntil(() => token === first || order.includes(token.id), 'it has a place')
    await store.settle(token, { outcome: 'delivered', reply: '250 OK', via: 'relay' })
  }
  await Promise.all(fences)
  t.strictSame(order, [other.id, bulk.id])
})

t.test('a result that cannot be stored fails alone', async t => {
  const store = new DeliveryStore(world.pool, world.log, { lease_seconds: 5, slots: 40 })
  const { ids, claimed } = await claimThree()
  const [good, bad, outdated] = claimed
  const [first, second, third] = await Promise.allSettled([
    store.settle(good, { outcome: 'failed', reason: 'no' }),
    store.settle(bad, { outcome: 'failed', reason: '\0' }),
    store.settle({ ...outdated, attempt: 7 }, { outcome: 'failed' }),
  ])
  shows(t, [first, third], [{ value: true }, { value: false }])
  shows(t, second, { status: 'rejected', reason: { code: '22P05' } })
  t.strictSame(await countStates(ids), { failed: 1, 'sending pre': 2 })

  const places = new Semaphore(10)
  const tokens = [{ ...bad }, outdated, { ...outdated, lease_owner: uuid() }]
  const fenced = tokens.map(token => store.fence(token, places))
  t.strictSame(
    await Promise.all(fenced),
    ['allowed', 'allowed', 'lost'],
    'two claims of one delivery are distinguished',
  )
})

t.test('two claims of one watched delivery are distinguished', async t => {
  const store = new DeliveryStore(world.pool, world.log, { lease_seconds: 5, slots: 40 })
  const { claimed } = await claimThree()
  const [first, second] = claimed.map(token => ({ ...token, is_watched: true })) as Claimed
  const places = new Semaphore(10)
  const tokens = [first, second, { ...second, lease_owner: uuid() }, { ...second, id: uuid() }]
  const fences = await Promise.all(tokens.map(token => store.fence(token, places)))
  t.strictSame(fences, ['allowed', 'allowed', 'lost', 'lost'])
})

t.test('mail is in doubt since its message was ended, and any other result is as old as its reply', async t => {
  const store = new DeliveryStore(world.pool, world.log, { lease_seconds: 5, slots: 40 })
  const { ids, claimed } = await claimThree()
  const [doubted, delivered] = claimed
  const places = new Semaphore(10)
  await Promise.all([store.fence(doubted, places), store.fence(delivered, places)])
  await sleep(100) // the clocks of both sides have milliseconds
  const { rows } = await world.pool.pg.query('SELECT clock_timestamp() AS between')
  await sleep(100)
  await Promise.all([
    store.settle(doubted, { outcome: 'in_doubt', reason: 'no reply', delay: 900, hold: false }),
    store.settle(delivered, { outcome: 'delivered', reply: '250 OK', via: 'relay' }),
  ])
  const query = 'SELECT type, created_at < $2 AS is_before FROM email_events WHERE email_id = ANY ($1) ORDER BY type'
  const { rows: events } = await world.pool.pg.query(query, [ids, rows[0].between])
  t.strictSame(events, [
    { type: 'delivered', is_before: false },
    { type: 'in_doubt', is_before: true },
  ])
})

async function open(t: Test, times = TEST_TIMES) {
  const proxy = await startPgProxy(world.config.DATABASE_URL ?? '')
  const pool = createPool(proxy.url)
  const sink = await startSink()
  const timeouts = { connect: 5_000, message: 5_000, dot: 5_000 }
  const work = openWork(t, { ...world, pool }, sink.url, { times, timeouts })
  t.teardown(async () => {
    await work.sender.stop()
    await Promise.all([pool.end(), proxy.close(), sink.close()])
  })
  return { proxy, sink, work }
}

function accept(to: string): Promise<string> {
  return acceptEmail(world, account, { to })
}

type Claimed = [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery]

async function countStates(ids: string[]): Promise<Record<string, number>> {
  const { rows } = await world.pool.pg.query(
    `SELECT concat_ws(' ', state, phase) AS state, count(*)::int FROM deliveries WHERE email_id = ANY($1) GROUP BY 1`,
    [ids],
  )
  return Object.fromEntries(rows.map(row => [row.state, row.count]))
}
