import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sweepDeliveries } from '#flows/delivery/recover_deliveries.ts'
import { createPool } from '#sql/pool.ts'
import type { Work } from '#tasks/task.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { type Sink, startSink } from '#test/faults/support/sink.ts'
import { acceptEmail, deliverEmails, openWork, readEmail, TEST_TIMEOUTS } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

t.test('a connection lost before the final dot is retried', async t => {
  const proxy = await startPgProxy(world.config.DATABASE_URL ?? '')
  const pool = createPool(proxy.url)
  t.teardown(() => Promise.all([pool.end(), proxy.close()]))
  const { sink, work } = await open(t, { ...world, pool })
  const long = 'long '.repeat(2_400_000) // more than the socket buffers hold
  for (const [local, text] of Object.entries({ 'drop-pre-dot': 'short', 'drop-mid-body': long })) {
    const id = await acceptEmail(world, account, { to: `${local}@y.com`, text })
    proxy.delay(text === 'short' ? 50 : 0) // the loss is known when the fence responds
    await deliverEmails(work, [id])
    const reason = /^The connection to 127\.0\.0\.1 failed: /
    const queue = [{ state: 'queued', attempts: 1, reason, last_reply: null }]
    const email = await readEmail(world, account, id)
    shows(t, email, { status: 'delivery_delayed', events: [{ type: 'delivery_delayed', reason }], queue }, local)
    t.equal(email.events.length, 1)
  }
  t.equal(sink.messages, 0)
})

t.test('a connection lost after the final dot leaves the email in doubt, and it is sent once more', async t => {
  const { sink, work } = await open(t)
  const id = await acceptEmail(world, account, { to: 'drop-post-dot@y.com' })
  await deliverEmails(work, [id])

  const reason = /^No reply to the end of the message: /
  const doubt = { type: 'in_doubt', recipient: 'drop-post-dot@y.com', reason }
  const first = await readEmail(world, account, id)
  shows(t, first, { status: 'sent', last_event: 'sent', sent_at: null, events: [doubt] })
  shows(t, first.queue, [{ state: 'in_doubt', attempts: 1, reason, last_reply: null }])
  const wait = ((first.queue?.[0]?.next_attempt_at?.getTime() ?? 0) - Date.now()) / 1000
  t.ok(wait > 14 * 60 && wait <= 15 * 60, `${wait} s`)

  await deliverEmails(work, [id])
  await sweepDeliveries(world.pool, world.log, world.config)
  await deliverEmails(work, [id])
  t.equal(sink.messages, 1, 'not before its time')

  await due(id)
  await sweepDeliveries(world.pool, world.log, world.config)
  shows(t, (await readEmail(world, account, id)).queue, [{ state: 'queued', attempts: 1 }])
  await deliverEmails(work, [id])
  t.equal(sink.messages, 2)
  const [one, other] = sink.ledger
  const { time: _, ...content } = one ?? { time: 0 }
  t.match(other, content, 'the same envelope, Message-ID and bytes')

  const second = await readEmail(world, account, id)
  shows(t, second, { status: 'sent', events: [doubt, doubt], queue: [{ state: 'held', next_attempt_at: null }] })
  await due(id, null)
  await sweepDeliveries(world.pool, world.log, world.config)
  await deliverEmails(work, [id])
  t.equal(sink.messages, 2, 'after a second doubt a person decides')
})

t.test('a server that is silent after the final dot gets the full timeout', async t => {
  const { sink, work } = await open(t)
  const id = await acceptEmail(world, account, { to: 'hang-post-dot@y.com' })
  const start = performance.now()
  await deliverEmails(work, [id])
  const took = performance.now() - start

  t.ok(took >= TEST_TIMEOUTS.dot - 5, `${took} ms`) // the timeout is the promise, and a busy machine only adds to it
  const reason = 'No reply to the end of the message: no reply in 1 s'
  shows(t, await readEmail(world, account, id), { status: 'sent', events: [{ type: 'in_doubt', reason }] })
  t.equal(sink.messages, 1)
})

t.test('IN_DOUBT=hold holds an email in doubt at once', async t => {
  const { work } = await open(t, { ...world, config: { ...world.config, IN_DOUBT: 'hold' } })
  const id = await acceptEmail(world, account, { to: 'drop-post-dot@y.com' })
  await deliverEmails(work, [id])

  const queue = [{ state: 'held', next_attempt_at: null, attempts: 1 }]
  shows(t, await readEmail(world, account, id), { status: 'sent', events: [{ type: 'in_doubt' }], queue })
})

t.test('a late reply within the timeout delivers the email', async t => {
  const { sink, work } = await open(t)
  const id = await acceptEmail(world, account, { to: 'slow250-300@y.com' })
  await deliverEmails(work, [id])
  shows(t, await readEmail(world, account, id), {
    status: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered' }],
  })
  t.equal(sink.messages, 1)
})

t.test('a connection that the server closed while idle is replaced without an attempt', async t => {
  const first = await startSink()
  const work = openWork(t, world, first.url)
  await deliverEmails(work, [await acceptEmail(world, account, { to: 'ok-1@y.com' })])
  await first.close()
  const second = await openSink(t, { port: first.port })
  await sleep(50)

  const id = await acceptEmail(world, account, { to: 'ok-2@y.com' })
  await deliverEmails(work, [id])
  shows(t, await readEmail(world, account, id), {
    status: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered' }],
  })
  shows(
    t,
    [first, second],
    [
      { messages: 1, connections: 1 },
      { messages: 1, connections: 1 },
    ],
  )
})

async function open(t: Test, foundation = world): Promise<{ sink: Sink; work: Work }> {
  const sink = await openSink(t)
  return { sink, work: openWork(t, foundation, sink.url) }
}

async function due(id: string, at: Date | null = new Date(0)): Promise<void> {
  await world.pool.pg.query('UPDATE deliveries SET next_at = $2 WHERE email_id = $1', [id, at])
}
