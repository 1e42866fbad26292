import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { v7 as uuid } from 'uuid'
import { SENDER_TIMES } from '#flows/delivery/sender.ts'
import { cancelEmail, rescheduleEmail } from '#flows/sending/change_schedule.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { Semaphore } from '#lib/async/semaphore.ts'
import { ApiError } from '#lib/errors.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { insertEmails } from '#sql/sending/accept/drafts.ts'
import { acceptEmail, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const HOUR = 3_600_000

t.test('a scheduled email is sent when its time has come, without a job, and dated by it', async t => {
  const { sink, sender } = await openSender(t)
  const scheduled_at = new Date(Date.now() + 1_000)
  const id = await acceptEmail(world, account, { scheduled_at: scheduled_at.toISOString() })
  const later = await acceptEmail(world, account, { scheduled_at: new Date(Date.now() + HOUR).toISOString() })
  sender.start()
  await waitUntil(() => sink.messages > 0, 'it is sent')
  t.ok(Date.now() >= scheduled_at.getTime(), 'not before its time')
  await sender.idle()
  shows(t, await readEmail(world, account, id), { status: 'delivered', scheduled_at })
  shows(t, await readEmail(world, account, later), { status: 'scheduled', queue: [{ attempts: 0 }] })
})

t.test('concurrent sends and changes of scheduled emails have exactly one winner', async t => {
  const { sink, sender } = await openSender(t)
  const due_at = Date.now() + 2_000
  const ids = await schedule(1_000, new Date(due_at))
  await sleep(due_at - Date.now() - 100)
  sender.start()
  const changes = ids.map((id, n) => ({ id, change: n % 2 ? 'canceled' : 'moved', delay: Math.random() * 1_500 }))
  const room = new Semaphore(6) // leaves the rest of the pool for the sender
  const results = await Promise.all(
    changes.map(async ({ id, change, delay }) => {
      await sleep(delay)
      await room.acquire()
      return { id, change, won: await wins(change, id).finally(() => room.release()) }
    }),
  )
  const sent = results.filter(({ won }) => !won).map(({ id }) => id)
  await sink.arrived(sent.length)
  await sender.idle()
  await sleep(100) // for messages that must not arrive

  const won = (change: string) => results.filter(result => result.won && result.change === change).length
  t.ok(won('canceled') > 0 && won('moved') > 0 && sent.length > 0, JSON.stringify([won('canceled'), won('moved')]))
  const { rows } = await world.pool.pg.query(
    'SELECT status, count(*)::int FROM emails WHERE id = ANY($1) GROUP BY status ORDER BY status',
    [ids],
  )
  t.strictSame(rows, [
    { status: 'canceled', count: won('canceled') },
    { status: 'delivered', count: sent.length },
    { status: 'scheduled', count: won('moved') },
  ])
  const arrived = sink.ledger.map(entry => entry.message_id.replace(/^<|@.*$/g, ''))
  t.strictSame(arrived.sort(), sent.sort(), 'each that was sent once, and none that was changed')
})

async function openSender(t: Test) {
  const sink = await openSink(t)
  const timeouts = { connect: 10_000, message: 10_000, dot: 10_000 }
  const { sender } = openWork(t, world, sink.url, { times: { ...SENDER_TIMES, poll_ms: 50 }, timeouts })
  return { sink, sender }
}

/** Schedules many emails at once, all stored before the time comes. */
async function schedule(count: number, scheduled_at: Date): Promise<string[]> {
  const party = { account_id: account.id, domain_id: null }
  const drafts = Array.from({ length: count }, () => {
    const email = {
      from: `a@${account.domain}`,
      to: `ok-${uuid()}@y.com`,
      subject: 'Hi',
      scheduled_at: scheduled_at.toJSON(),
    }
    return toDraft(party, CompleteEmail.parse(email), null, world.config.SIMULATOR_DOMAIN)
  })
  await insertEmails(world.pool, drafts)
  return drafts.map(draft => draft.id)
}

/** True if the change came before the claim. */
async function wins(change: string, id: string): Promise<boolean> {
  const email = { account_id: account.id, id }
  try {
    if (change === 'canceled') await cancelEmail(world.pool, email)
    else await rescheduleEmail(world.pool, email, { at: new Date(Date.now() + HOUR), is_now: false, fault: null })
    return true
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 422) return false
    throw error
  }
}
