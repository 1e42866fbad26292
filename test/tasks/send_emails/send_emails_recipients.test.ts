import t, { type Test } from 'tap'
import { send_emails } from '#tasks/send_emails.ts'
import { makeDue } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

t.test('each recipient has its own state, and only deferred ones are retried', async t => {
  const { sink, work } = await open(t)
  const [ok, deferred, bounced] = ['ok@y.com', 'grey-1@y.com', 'perm-550-5.1.1@y.com']
  const id = await acceptEmail(world, account, { to: [ok, deferred], cc: [bounced] })
  await deliverEmails(work, [id])

  t.strictSame(await listStates(id), { [ok]: 'delivered 1', [deferred]: 'queued 1', [bounced]: 'bounced 1' })
  const email = await readEmail(world, account, id)
  t.equal(email.status, 'delivery_delayed')
  t.same(await listEvents(id), [`bounced ${bounced}`, `delivered ${ok}`, `delivery_delayed ${deferred}`, 'sent'])
  shows(t, email.queue, [{ recipient: deferred, last_reply: '451 4.7.1 Greylisted, try again' }])
  t.equal(email.queue?.length, 1)

  await makeDue(world, id)
  await deliverEmails(work, [id])
  t.strictSame(await listStates(id), { [ok]: 'delivered 1', [deferred]: 'delivered 2', [bounced]: 'bounced 1' })
  shows(t, await readEmail(world, account, id), { status: 'bounced', queue: undefined })
  t.same(
    sink.ledger.map(entry => entry.rcpt),
    [ok, deferred],
  )
})

const statuses: [recipients: string[], status: string, last_event: string][] = [
  [['ok-1', 'ok-2'], 'delivered', 'delivered'],
  [['ok', 'perm-550'], 'bounced', ''],
  [['ok', 'data-554'], 'failed', ''],
  [['data-554', 'perm-550'], 'bounced', ''],
  [['ok', 'tmp-451'], 'delivery_delayed', ''],
  [['perm-550', 'tmp-451'], 'delivery_delayed', ''],
  [['drop-post-dot', 'tmp-451'], 'delivery_delayed', ''],
  [['ok', 'drop-post-dot'], 'sent', ''],
  [['perm-550', 'drop-post-dot'], 'sent', ''],
  [['drop-post-dot'], 'sent', 'sent'],
  [['tmp-451'], 'delivery_delayed', 'delivery_delayed'],
]

t.test('the status of an email combines those of its recipients', async t => {
  const { work } = await open(t)
  for (const [locals, status, last_event] of statuses) {
    const someone = await newAccount(world) // with an empty suppression list
    const id = await acceptEmail(world, someone, { to: locals.map(local => `${local}@y.com`) })
    await deliverEmails(work, [id])
    const email = await readEmail(world, someone, id)
    t.equal(email.status, status, locals.join())
    if (last_event) t.equal(email.last_event, last_event)
    t.equal(
      email.sent_at !== null,
      locals.some(local => local.startsWith('ok')),
    )
    t.ok(email.updated_at > email.created_at)
  }
})

t.test('an email whose recipients are all suppressed is suppressed', async t => {
  const { sink, work } = await open(t)
  const someone = await newAccount(world)
  const id = await acceptEmail(world, someone, { to: ['Ann@y.com', 'bob@y.com'] })
  await world.pool.pg.query(
    `INSERT INTO suppressions (account_id, id, address, reason)
    SELECT $1, gen_random_uuid(), unnest('{ann@y.com,bob@y.com}'::text[]), 'complaint'`,
    [someone.id],
  )
  await deliverEmails(work, [id])

  shows(t, await readEmail(world, someone, id), { status: 'suppressed', last_event: 'suppressed', queue: undefined })
  t.same(await listEvents(id, someone), ['suppressed Ann@y.com', 'suppressed bob@y.com'])
  t.equal(sink.connections, 0)
})

t.test('mail to a reserved domain is never sent, even if it was queued', async t => {
  const { sink, work } = await open(t)
  const reserved = ['x@example.com', 'x@mail.example.org', 'x@a.test', 'x@a.invalid', 'x@a.localhost', 'x@a.example']
  const id = await acceptEmail(world, account, { to: ['fine@y.com', ...reserved.map((_, i) => `r${i}@y.com`)] })
  for (const [i, recipient] of reserved.entries()) {
    await world.pool.pg.query(
      `UPDATE deliveries SET recipient = $2, destination = split_part($2, '@', 2) WHERE email_id = $1 AND recipient = $3`,
      [id, recipient, `r${i}@y.com`],
    )
  }
  await deliverEmails(work, [id])

  const suppressed = reserved.map(recipient => [recipient, 'suppressed 1'])
  t.strictSame(await listStates(id), { 'fine@y.com': 'delivered 1', ...Object.fromEntries(suppressed) })
  t.strictSame(
    sink.ledger.map(entry => entry.rcpt),
    ['fine@y.com'],
  )
  const { events, queue } = await readEmail(world, account, id)
  t.equal(queue, undefined)
  const told = events.filter(({ type }) => type === 'suppressed')
  t.match(told, Array(6).fill({ reason: 'The domain is reserved for documentation and tests.' }))
})

t.test('`queue` of an email explains why it is not sent yet', async t => {
  const { work } = await open(t)
  const id = await acceptEmail(world, account, { to: 'slow250-800@y.com' })
  const waiting = { recipient: 'slow250-800@y.com', attempts: 0, last_reply: null }
  shows(t, (await readEmail(world, account, id)).queue, [
    { ...waiting, state: 'queued', reason: 'It is due and waits for a worker.', next_attempt_at: Date },
  ])
  await world.pool.pg.query(`UPDATE deliveries SET next_at = now() + interval '1 hour' WHERE email_id = $1`, [id])
  shows(t, (await readEmail(world, account, id)).queue, [{ ...waiting, state: 'queued', reason: 'It is not due yet.' }])

  await makeDue(world, id)
  await send_emails({ email_ids: [id] }, work)
  const sending = { ...waiting, state: 'sending', attempts: 1, reason: 'A worker has it.', next_attempt_at: null }
  shows(t, await readEmail(world, account, id), { status: 'queued', queue: [sending] })
  await work.sender.idle()
  shows(t, await readEmail(world, account, id), { status: 'delivered', queue: undefined })
})

async function open(t: Test) {
  const sink = await openSink(t)
  const timeouts = { connect: 5_000, message: 5_000, dot: 5_000 }
  return { sink, work: openWork(t, world, sink.url, { timeouts }) }
}

async function listStates(id: string): Promise<Record<string, string>> {
  const { rows } = await world.pool.pg.query('SELECT * FROM deliveries WHERE email_id = $1', [id])
  return Object.fromEntries(rows.map(row => [row.recipient, `${row.state} ${row.attempt}`]))
}

async function listEvents(id: string, owner = account): Promise<string[]> {
  const { events } = await readEmail(world, owner, id)
  return events.map(event => [event.type, event.recipient].filter(Boolean).join(' ')).sort()
}
