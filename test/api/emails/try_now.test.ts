import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const sink = await openSink(t)
const work = openWork(t, world, sink.url)

const tryNow = (id: string, key?: string) =>
  api.request('POST', `/api/emails/${id}/try-now`, key === undefined ? {} : { key })
const deliver = async (id: string) => {
  await deliverEmails(work, [id])
}
const countJobs = async (id: string) => {
  const { rows } = await world.pool.pg.query(
    `SELECT count(*)::int AS count FROM graphile_worker._private_jobs WHERE payload::jsonb->'email_ids' ? $1`,
    [id],
  )
  return rows[0].count
}
const REFUSED = { status: 422, body: { message: 'No recipient of this email waits for another attempt.' } }

t.test('POST /emails/:id/try-now sends a deferred email at once', async t => {
  const id = await acceptEmail(world, account, { to: ['grey-1@y.com', 'ok@y.com'] })
  await deliver(id)
  const { queue } = await readEmail(world, account, id)
  t.ok(Date.parse(String(queue?.[0]?.next_attempt_at)) > Date.now() + 10_000, 'it would wait')
  await deliver(id)
  t.equal((await readEmail(world, account, id)).status, 'delivery_delayed')

  const jobs = await countJobs(id)
  shows(t, await tryNow(id), { status: 200, body: { object: 'email', id } })
  t.equal(await countJobs(id), jobs + 1, 'a worker gets a job')
  await deliver(id)
  shows(t, await readEmail(world, account, id), { status: 'delivered', queue: undefined })
  t.strictSame(sink.ledger.map(({ rcpt }) => rcpt).sort(), ['grey-1@y.com', 'ok@y.com'], 'nobody gets it twice')
  shows(t, await tryNow(id), REFUSED)
})

t.test('POST /emails/:id/try-now refuses scheduled, paused and foreign emails', async t => {
  const scheduled = await acceptEmail(world, account, { scheduled_at: 'in 2 hours' })
  shows(t, await tryNow(scheduled), REFUSED)
  const paused = await acceptEmail(world, account, { to: 'grey-1@y.com' })
  await deliver(paused)
  await world.pool.pg.query(`UPDATE deliveries SET next_at = 'infinity' WHERE email_id = $1`, [paused])
  shows(t, await tryNow(paused), REFUSED)
  const other = await newAccount(world)
  shows(t, await tryNow(scheduled, other.key), { status: 404 })
})
