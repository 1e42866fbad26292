import t from 'tap'
import { suppress } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { readHits } from '#test/support/tracking.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const at = (mailbox: string) => `${mailbox}@${world.config.SIMULATOR_DOMAIN}`
const ok = { reply: '250 2.0.0 Simulated', via: 'simulator' }
const unknown = { reply: '550 5.1.1 Simulated: no such user' }

const mailboxes = {
  delivered: { status: 'delivered', events: [{ type: 'sent' }, { type: 'delivered', ...ok }] },
  'Delivered+label': { status: 'delivered', events: [{ type: 'sent' }, { type: 'delivered', ...ok }] },
  opened: { status: 'delivered', events: [{ type: 'sent' }, { type: 'delivered', ...ok }] },
  'clicked+label': { status: 'delivered', events: [{ type: 'sent' }, { type: 'delivered', ...ok }] },
  bounced: { status: 'bounced', events: [{ type: 'bounced', reason: 'Simulated bounce.', ...unknown }] },
  complained: {
    status: 'complained',
    events: [{ type: 'sent' }, { type: 'delivered', ...ok }, { type: 'complained' }],
  },
  suppressed: { status: 'suppressed', events: [{ type: 'suppressed', reason: 'Simulated suppression.' }] },
  whoever: {
    status: 'bounced',
    events: [{ type: 'bounced', reason: 'The simulator has no such mailbox.', ...unknown }],
  },
}

t.test('each mailbox of the simulator has its outcome, and nothing is sent', async t => {
  const account = await newAccount(world)
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  for (const [mailbox, expected] of Object.entries(mailboxes)) {
    const id = await acceptEmail(world, account, { to: at(mailbox) })
    await deliverEmails(work, [id])

    const email = await readEmail(world, account, id)
    const last_event = expected.events.at(-1)?.type
    t.match(email, { ...expected, last_event, queue: undefined }, mailbox)
    t.equal(email.events.length, expected.events.length)
    for (const event of email.events) t.equal(event.recipient, event.type === 'sent' ? undefined : at(mailbox))
    t.equal(email.sent_at !== null, expected.events[0]?.type === 'sent')
  }
  t.equal(inbox.messages.length, 0)
  t.strictSame(await listSuppressions(account.id), [], 'the simulator suppresses nobody')
})

t.test('the simulator opens and clicks tracked emails', async t => {
  const account = await newAccount(world)
  const work = openWork(t, world, 'capture')
  const played = { opened: ['open'], clicked: ['open', 'click'] }
  const html = '<a href="https://acme.com/é">é</a> <a href="https://acme.com/2">2</a>'
  for (const [mailbox, types] of Object.entries(played)) {
    const id = await acceptEmail(world, account, { to: at(mailbox), html, track_opens: true, track_clicks: true })
    await deliverEmails(work, [id])
    shows(
      t,
      await readHits(world, { email_id: id }),
      types.map(type => ({ type, class: 'human', rule: 'simulator', link: type === 'open' ? null : 0 })),
    )
    shows(t, await readEmail(world, account, id), { status: 'delivered', last_event: mailbox })
  }
  // Webhooks announce each simulated open and click.
  const { rows } = await world.pool.pg.query('SELECT DISTINCT host(ip) AS ip FROM tracking_hits')
  t.strictSame(rows, [{ ip: '127.0.0.1' }])
})

t.test('the suppression list does not apply to the simulator', async t => {
  const account = await newAccount(world)
  const work = openWork(t, world, 'capture')
  await suppress(world, account.id, at('delivered'))
  const id = await acceptEmail(world, account, { to: at('delivered') })
  await deliverEmails(work, [id])
  t.equal((await readEmail(world, account, id)).status, 'delivered')
})

t.test('the simulator works on a reserved domain', async t => {
  const account = await newAccount(world)
  const there = { ...world, config: { ...world.config, SIMULATOR_DOMAIN: 'simulator.test' } }
  const work = openWork(t, there, 'capture')
  const id = await acceptEmail(there, account, { to: 'delivered@simulator.test' })
  await deliverEmails(work, [id])
  shows(t, await readEmail(there, account, id), { status: 'delivered', events: [{ type: 'sent' }, ok] })
})

t.test('simulated and real recipients of one email each get their own outcome', async t => {
  const account = await newAccount(world)
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const to = ['ann@y.com', ...['delivered', 'bounced', 'complained', 'suppressed'].map(at)]
  const id = await acceptEmail(world, account, { to })
  await deliverEmails(work, [id])

  shows(t, inbox.messages, [{ rcpt_to: ['ann@y.com'] }])
  t.equal(inbox.messages.length, 1)
  const { status, events, queue } = await readEmail(world, account, id)
  t.equal(status, 'bounced')
  t.equal(queue, undefined)
  const told = events.map(({ type, recipient, via }) => [type, recipient, via].filter(Boolean).join(' ')).sort()
  t.strictSame(told, [
    `bounced ${at('bounced')}`,
    `complained ${at('complained')} simulator`,
    'delivered ann@y.com relay',
    `delivered ${at('complained')} simulator`,
    `delivered ${at('delivered')} simulator`,
    'sent',
    `suppressed ${at('suppressed')}`,
  ])
  t.strictSame(await listSuppressions(account.id), [])
})

async function listSuppressions(account_id: string): Promise<string[]> {
  const { rows } = await world.pool.pg.query('SELECT address FROM suppressions WHERE account_id = $1', [account_id])
  return rows.map(row => row.address)
}
