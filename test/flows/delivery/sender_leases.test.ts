import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { sweepDeliveries } from '#flows/delivery/recover_deliveries.ts'
import { newId } from '#lib/ids.ts'
import { createLog } from '#lib/log.ts'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { fenceDeliveries } from '#sql/delivery/leases.ts'
import { sql, type Tx } from '#sql/pool.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { endLeases } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail, TEST_TIMES } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const PATIENT = { connect: 5_000, message: 5_000, dot: 5_000 }
const sweep = () => sweepDeliveries(world.pool, world.log, world.config)

t.test('a delivery whose lease expires before the fence sends no final dot', async t => {
  const { url, arrived, id } = await openLosing(t, expire)
  const work = openWork(t, world, url)
  await deliverEmails(work, [id])
  t.equal(arrived.length, 0)
  shows(t, await findDelivery(id), { state: 'queued', attempt: 0, phase: null, lease_owner: null, lost_count: 0 })
  shows(t, await readEmail(world, account, id), { status: 'queued', events: [], queue: [{ attempts: 0 }] })

  await deliverEmails(work, [id])
  shows(t, await findDelivery(id), { state: 'delivered', attempt: 1 })
  t.equal(arrived.length, 1)
})

t.test('a delivery that the sweep took is sent once, by another worker', async t => {
  const { url, arrived, id } = await openLosing(t, async id => {
    await expire(id)
    await sweep()
    shows(t, await findDelivery(id), { state: 'queued', attempt: 1, lost_count: 1 })
    await deliverEmails(other, [id])
  })
  const work = openWork(t, world, url)
  const other = openWork(t, world, url)
  await deliverEmails(work, [id])

  shows(t, await findDelivery(id), { state: 'delivered', attempt: 2 })
  shows(t, await readEmail(world, account, id), {
    status: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered' }],
  })
  t.equal(arrived.length, 1)
})

t.test('a delivery that the same worker claims again is sent once', async t => {
  const { url, arrived, id } = await openLosing(t, async id => {
    const { lease_owner } = await findDelivery(id)
    await expire(id)
    await sweep()
    await send_emails({ email_ids: [id] }, work)
    t.not((await findDelivery(id)).lease_owner, lease_owner, 'the two claims are distinguished')
  })
  const work = openWork(t, world, url)
  await deliverEmails(work, [id])

  shows(t, await findDelivery(id), { state: 'delivered', attempt: 2 }, 'both attempts have ended')
  t.equal(arrived.length, 1)
})

t.test('a delivery whose claim is lost in a crash of Postgres is sent once, by a later claim', async t => {
  const { url, arrived, id } = await openLosing(t, undoClaim)
  const work = openWork(t, world, url)
  await deliverEmails(work, [id])
  t.equal(arrived.length, 0)
  shows(t, await findDelivery(id), { state: 'queued', attempt: 0, lost_count: 0 })

  await deliverEmails(work, [id])
  shows(t, await findDelivery(id), { state: 'delivered', attempt: 1 })
  t.equal(arrived.length, 1)
})

t.test('a crash of Postgres that loses many claims makes one line a second in the log', async t => {
  const ids = await Promise.all([1, 2, 3].map(() => acceptEmail(world, account)))
  let undone: Promise<unknown> | undefined
  const inbox = await startInbox(t, {
    onRcptTo: (_address, _session, callback) => {
      undone ??= Promise.all(ids.map(undoClaim))
      undone.then(() => callback(), callback)
    },
  })
  const lines: object[] = []
  const log = createLog('warn', { write: line => void lines.push(JSON.parse(line)) })
  await deliverEmails(openWork(t, { ...world, log }, inbox.url), ids)
  await waitUntil(() => lines.length > 1, 'the second line is written')
  const msg = 'a result came after its lease was lost'
  shows(t, lines, [
    { msg, left_out: undefined },
    { msg, left_out: 1 },
  ])
})

t.test('the commit of a claim does not wait for the disk, that of a fence does', async t => {
  const { pool } = world
  const email_ids = [await acceptEmail(world, account)]
  const claim = { lease_owner: newId(), lease_seconds: 60, limit: 1, email_ids }
  const claimed = await pool.transaction(async tx => {
    const deliveries = await claimDeliveries(tx, claim)
    t.equal(await waitsForDisk(tx), 'off')
    return deliveries
  })
  await pool.transaction(async tx => {
    t.equal((await fenceDeliveries(tx, claimed, 60)).length, 1)
    t.equal(await waitsForDisk(tx), 'on')
  })
})

t.test('heartbeats extend leases of deliveries that take longer', async t => {
  const sink = await openSink(t)
  const times = { ...TEST_TIMES, lease_seconds: 1.5, heartbeat_ms: 100 }
  const { sender } = openWork(t, world, sink.url, { times, timeouts: PATIENT })
  const held = await acceptEmail(world, account, { to: 'slow250-3500@y.com' })
  sender.start()
  await waitUntil(async () => (await findDelivery(held)).phase === 'dot', 'it waits for its reply')

  // A delivery that this process has claimed but does not know of.
  const forgotten = await acceptEmail(world, account, { to: 'bob@z.com' })
  await world.pool.pg.query(
    `UPDATE deliveries SET state = 'sending', phase = 'pre', attempt = 1, next_at = NULL,
      lease_owner = (SELECT lease_owner FROM deliveries WHERE email_id = $1), lease_until = now() + interval '1.5 s'
    WHERE email_id = $2`,
    [held, forgotten],
  )
  await sleep(1_800)
  await sweep()
  shows(t, await findDelivery(held), { state: 'sending', phase: 'dot' })
  t.match(await findDelivery(forgotten), { lost_count: 1 })
  await waitUntil(async () => (await findDelivery(held)).state !== 'sending', 'it is settled')
  shows(t, await readEmail(world, account, held), {
    status: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered' }],
  })
})

t.test('a reply after the lease was lost settles a delivery in doubt', async t => {
  const sink = await openSink(t)
  const work = openWork(t, world, sink.url, { timeouts: PATIENT })
  const id = await acceptEmail(world, account, { to: 'slow250-1500@y.com' })
  await send_emails({ email_ids: [id] }, work)
  await waitUntil(async () => (await findDelivery(id)).phase === 'dot', 'it waits for its reply')
  await expire(id)
  await sweep()
  const reason = 'Its worker died while the receiver’s answer was awaited.'
  shows(t, await readEmail(world, account, id), { status: 'sent', events: [{ type: 'in_doubt', reason }] })

  await work.sender.idle()
  const types = (await readEmail(world, account, id)).events.map(event => event.type)
  t.strictSame(types, ['in_doubt', 'sent', 'delivered'])
  shows(t, await readEmail(world, account, id), { status: 'delivered', queue: undefined })
  t.equal(sink.messages, 1)
})

/** Starts a receiver whose first RCPT runs `lose` on the delivery. */
async function openLosing(t: Test, lose: (id: string) => Promise<void>) {
  const id = await acceptEmail(world, account)
  const arrived: Buffer[] = []
  let isLost = false
  const inbox = await startInbox(t, {
    onData: (stream, _session, callback) => {
      buffer(stream).then(message => {
        arrived.push(message)
        callback()
      }, callback)
    },
    onRcptTo: (_address, _session, callback) => {
      const first = !isLost
      isLost = true
      if (first) lose(id).then(() => callback(), callback)
      else callback()
    },
  })
  return { url: inbox.url, arrived, id }
}

async function expire(id: string): Promise<void> {
  await endLeases(world, [id])
}

/** Makes the row as it was before its claim. */
async function undoClaim(id: string): Promise<void> {
  await world.pool.pg.query(
    `UPDATE deliveries SET state = 'queued', phase = NULL, attempt = 0, next_at = now(), lease_owner = NULL, lease_until = NULL
    WHERE email_id = $1`,
    [id],
  )
}

const Setting = z.object({ synchronous_commit: z.string() })

async function waitsForDisk(tx: Tx): Promise<string> {
  return (await tx.one(sql.type(Setting)`SHOW synchronous_commit`)).synchronous_commit
}

async function findDelivery(id: string): Promise<Record<string, unknown>> {
  const { rows } = await world.pool.pg.query('SELECT * FROM deliveries WHERE email_id = $1', [id])
  return rows[0]
}
