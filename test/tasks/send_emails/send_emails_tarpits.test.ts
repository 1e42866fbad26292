import t, { type Test } from 'tap'
import type { SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import { send_emails } from '#tasks/send_emails.ts'
import type { SinkOptions } from '#test/faults/support/sink.ts'
import { acceptEach, acceptEmail, deliverEmails, openWork, readEmail, TEST_TIMEOUTS } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

t.test('a server that sends byte by byte is given up at the deadline', async t => {
  const cases: [SinkOptions, string, RegExp][] = [
    [{ greeting: 'dribble' }, 'ok@y.com', /^No connection to 127\.0\.0\.1:\d+: /],
    [{}, 'dribble@y.com', /^The connection to 127\.0\.0\.1 failed: no reply in 2 s$/],
  ]
  for (const [options, to, reason] of cases) {
    const { sink, work } = await open(t, options)
    const id = await acceptEmail(world, account, { to })
    await deliverEmails(work, [id])
    shows(t, await readEmail(world, account, id), {
      status: 'delivery_delayed',
      queue: [{ state: 'queued', attempts: 1, reason, last_reply: null }],
    })
    t.equal(sink.connections, 1)
  }
})

t.test('a server that does not speak SMTP defers the email with its reply', async t => {
  const cases: [SinkOptions, string, RegExp, string | null][] = [
    [{ greeting: 'SSH-2.0-OpenSSH_9.9' }, 'ok@y.com', /^No connection to .*Invalid greeting/, 'SSH-2.0-OpenSSH_9.9'],
    [{}, 'garbage@y.com', /^The connection to 127\.0\.0\.1 failed: /, '?ÿ???'],
  ]
  for (const [options, to, reason, last_reply] of cases) {
    const { work } = await open(t, options)
    const id = await acceptEmail(world, account, { to })
    await deliverEmails(work, [id])
    const email = await readEmail(world, account, id)
    shows(t, email, { status: 'delivery_delayed', queue: [{ state: 'queued', attempts: 1, reason, last_reply }] })
    t.match(email.queue?.[0]?.reason, /^[ -~]*$/)
  }
})

t.test('HELO is used when a server rejects EHLO', async t => {
  const { sink, work } = await open(t, { ehlo: '502 5.5.1 What?' })
  const id = await acceptEmail(world, account)
  await deliverEmails(work, [id])
  t.equal((await readEmail(world, account, id)).status, 'delivered')
  t.equal(sink.messages, 1)
})

t.test('a slow destination delays only its own emails', async t => {
  // After five emails in doubt the relay pauses for all: the others must be sent before.
  const { sink, work } = await open(t, {}, { connect: 10_000, message: 10_000, dot: 20_000 })
  const slow = await accept(100, i => `hang-post-dot-${i}@slow.com`)
  await send_emails({ email_ids: slow }, work)
  const fast = await accept(100, i => `ok-${i}@fast.com`)
  await send_emails({ email_ids: fast }, work)

  const isDone = async () => {
    const delivered = `SELECT FROM emails WHERE id = ANY($1) AND status = 'delivered'`
    return (await world.pool.pg.query(delivered, [fast])).rowCount === fast.length
  }
  await waitUntil(isDone, 'the mail to the other destination is delivered')
  const hanging = sink.ledger.filter(entry => entry.rcpt.endsWith('@slow.com')).length
  t.ok(hanging < 100, `${hanging} of 100 slow emails were tried by then`)
  t.equal(sink.messages, 100 + hanging)
  await sink.close()
  await work.sender.stop()
})

function accept(count: number, address: (i: number) => string): Promise<string[]> {
  return acceptEach(
    world,
    account,
    Array.from({ length: count }, (_, i) => ({ to: address(i) })),
  )
}

async function open(t: Test, options: SinkOptions = {}, timeouts: SmtpTimeouts = TEST_TIMEOUTS) {
  const sink = await openSink(t, options)
  return { sink, work: openWork(t, world, sink.url, { timeouts }) }
}
