import t, { type Test } from 'tap'
import { startSink } from '#test/faults/support/sink.ts'
import { ageEmail, makeDue } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const LATER = 'The receiver asked to try again later.'
const ACCESS = 'The server refused our connection.'
const RECIPIENT = 'The receiver refused the recipient.'
const POLICY = 'The receiver refused it by its policy.'
const CONTENT = 'The receiver refused the message.'
const SIZE = 'The receiver refused the message for its size.'

type Expected = [local: string, state: 'deferred' | 'bounced' | 'failed', reason: string, last_reply: string]

const replies: Expected[] = [
  ['tmp-451', 'deferred', LATER, '451 As you asked'],
  ['tmp-450-4.2.1', 'deferred', LATER, '450 4.2.1 As you asked'],
  ['tmp-452-4.2.2', 'deferred', LATER, '452 4.2.2 As you asked'],
  ['grey-1', 'deferred', LATER, '451 4.7.1 Greylisted, try again'],
  ['reply-421-4.3.2', 'deferred', LATER, '421 4.3.2 As you asked'],
  ['reply-530-5.7.0', 'deferred', ACCESS, '530 5.7.0 As you asked'],
  ['multiline-451-4.7.1', 'deferred', LATER, '451 4.7.1 One two three'],
  ['8bit-452', 'deferred', LATER, '452 Boîte pleine'],
  ['perm-550', 'bounced', RECIPIENT, '550 As you asked'],
  ['perm-550-5.1.1', 'bounced', RECIPIENT, '550 5.1.1 As you asked'],
  ['perm-552-5.2.2', 'bounced', RECIPIENT, '552 5.2.2 As you asked'],
  ['perm-554', 'bounced', RECIPIENT, '554 As you asked'],
  ['perm-550-5.7.1', 'failed', POLICY, '550 5.7.1 As you asked'],
  ['multiline-550-5.1.1', 'bounced', RECIPIENT, '550 5.1.1 One two three'],
  ['8bit-550', 'bounced', RECIPIENT, '550 Boîte pleine'],
  ['data-451', 'deferred', LATER, '451 As you asked'],
  ['data-421-4.3.2', 'deferred', LATER, '421 4.3.2 As you asked'],
  ['data-550', 'failed', CONTENT, '550 As you asked'],
  ['data-550-5.1.1', 'bounced', RECIPIENT, '550 5.1.1 As you asked'],
  ['data-552', 'failed', SIZE, '552 As you asked'],
  ['data-552-5.2.2', 'failed', RECIPIENT, '552 5.2.2 As you asked'],
  ['data-554-5.7.1', 'failed', POLICY, '554 5.7.1 As you asked'],
]

for (const ehlo of ['250 sink', '250-sink\r\n250 PIPELINING']) {
  t.test(`each reply gives its state, with the extensions ${JSON.stringify(ehlo)}`, async t => {
    const account = await newAccount(world)
    const sink = await startSink({ ehlo })
    const work = openWork(t, world, sink.url)
    t.teardown(() => sink.close())
    const ids = await Promise.all(replies.map(([local]) => acceptEmail(world, account, { to: `${local}@y.com` })))

    await deliverEmails(work, ids)

    for (const [i, [local, state, reason, last_reply]] of replies.entries()) {
      const email = await readEmail(world, account, ids[i] as string)
      const event = { recipient: `${local}@y.com`, reason, reply: last_reply }
      if (state === 'deferred') {
        const queue = [{ recipient: event.recipient, state: 'queued', reason, attempts: 1, last_reply }]
        const events = [{ type: 'delivery_delayed', ...event }]
        shows(t, email, { status: 'delivery_delayed', last_event: 'delivery_delayed', events, queue }, local)
        isDueIn(t, email.queue?.[0]?.next_attempt_at, 60)
      } else {
        shows(
          t,
          email,
          { status: state, last_event: state, events: [{ type: state, ...event }], queue: undefined },
          local,
        )
      }
      t.equal(email.events.length, 1, 'no other event')
    }
    const bounced = replies.filter(([, state]) => state === 'bounced').map(([local]) => `${local}@y.com`)
    t.strictSame(await listSuppressed(account), bounced.sort(), 'only bounced recipients are suppressed')
    t.equal(sink.messages, 0)
  })
}

t.test('a rejection of our sender or host does not bounce the recipient', async t => {
  const account = await newAccount(world)
  const inbox = await startInbox(t)
  const cases = [
    ['mail', 550, '5.1.8 No such sender', 'failed', 'The receiver refused the sender.'],
    ['mail', 451, '4.7.1 Slow down', 'delivery_delayed', LATER],
    ['mail', 421, '4.7.0 Slow down', 'delivery_delayed', LATER],
    ['rcpt', 421, '4.7.0 Slow down', 'delivery_delayed', LATER],
    ['connect', 554, '5.7.1 Go away', 'delivery_delayed', /^No connection to 127\.0\.0\.1:\d+: .*Go away/],
    ['connect', 421, '4.7.0 Busy', 'delivery_delayed', /^No connection to 127\.0\.0\.1:\d+: .*Busy/],
  ] as const
  for (const [stage, code, text, status, reason] of cases) {
    inbox.refuse(code, text, stage)
    const work = openWork(t, world, inbox.url) // without an open connection
    const id = await acceptEmail(world, account, { to: 'ann@y.com' })
    await deliverEmails(work, [id])
    shows(t, await readEmail(world, account, id), { status, events: [{ reason, reply: `${code} ${text}` }] }, stage)
  }
  t.strictSame(await listSuppressed(account), [])
})

t.test('events contain the class of a rejection and the bounce', async t => {
  const account = await newAccount(world)
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const bounce = (type: string, subType: string, message: string) => ({
    bounce: { type, subType, message, diagnosticCode: [`smtp; ${message}`] },
  })
  const full = '552 5.2.2 Mailbox full'
  const large = '552 5.3.4 Too large'
  const cases = [
    ['550', '5.1.1 No such user', { class: 'recipient', ...bounce('Permanent', 'NoEmail', '550 5.1.1 No such user') }],
    ['552', '5.2.2 Mailbox full', { class: 'recipient', ...bounce('Permanent', 'MailboxFull', full) }],
    ['552', '5.3.4 Too large', { class: 'size', ...bounce('Transient', 'MessageTooLarge', large) }],
    ['550', 'Listed by spamhaus', { class: 'policy', ...bounce('Transient', 'General', '550 Listed by spamhaus') }],
    ['451', '4.7.1 Later', { class: 'transient', bounce: undefined }],
  ] as const
  for (const [i, [code, text, expected]] of cases.entries()) {
    inbox.refuse(Number(code), text)
    const id = await acceptEmail(world, account, { to: `u${i}@y.com` })
    await deliverEmails(work, [id])
    shows(t, await readEmail(world, account, id), { events: [expected] }, text)
  }
  const { rows } = await world.pool.pg.query(
    `SELECT address, reason, cause, expires_at > now() + interval '29 days' AS ends FROM suppressions
     WHERE account_id = $1 ORDER BY 1`,
    [account.id],
  )
  const row = { reason: 'bounce', cause: '550 5.1.1 No such user', ends: null }
  t.strictSame(rows, [
    { address: 'u0@y.com', ...row },
    { address: 'u1@y.com', ...row, cause: full, ends: true },
  ])
})

t.test('the delay that a receiver asks for is respected', async t => {
  const account = await newAccount(world)
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  inbox.refuse(450, '4.2.0 Greylisted, please try again in 600 seconds')
  const id = await acceptEmail(world, account, { to: 'ann@y.com' })
  await deliverEmails(work, [id])
  isDueIn(t, (await readEmail(world, account, id)).queue?.[0]?.next_attempt_at, 630)
})

t.test('retry delays grow and end after 72 hours', async t => {
  const account = await newAccount(world)
  const sink = await openSink(t)
  const work = openWork(t, world, sink.url)
  const id = await acceptEmail(world, account, { to: 'tmp-451@y.com' })
  const due = () => makeDue(world, id)

  for (const [i, minutes] of [1, 5, 10, 30, 60, 120, 240, 240].entries()) {
    await deliverEmails(work, [id])
    const [recipient] = (await readEmail(world, account, id)).queue ?? []
    t.equal(recipient?.attempts, i + 1)
    isDueIn(t, recipient?.next_attempt_at, minutes * 60)
    await deliverEmails(work, [id])
    t.equal((await readEmail(world, account, id)).queue?.[0]?.attempts, i + 1, 'not before it is due')
    await due()
  }

  await ageEmail(world, id, 71)
  await deliverEmails(work, [id])
  const last = { type: 'failed', reason: `Given up after 72 hours. ${LATER}`, reply: '451 As you asked' }
  const email = await readEmail(world, account, id)
  shows(t, email, { status: 'failed', last_event: 'failed', queue: undefined })
  t.match(email.events.at(-1), last)
  t.equal(email.events.length, 9)
  await due()
  await deliverEmails(work, [id])
  t.equal((await readEmail(world, account, id)).events.length, 9, 'it is final')
})

/** Allows for half of the 20 % by which the schedule varies and a bit for slow machines. */
function isDueIn(t: Test, date: Date | null | undefined, seconds: number): void {
  const wait = date ? (date.getTime() - Date.now()) / 1000 : Number.NaN
  t.ok(wait > 0.75 * seconds && wait < 1.25 * seconds, `due in ${wait} s, of about ${seconds}`)
}

async function listSuppressed(account: TestAccount): Promise<string[]> {
  const { rows } = await world.pool.pg.query('SELECT address FROM suppressions WHERE account_id = $1 ORDER BY 1', [
    account.id,
  ])
  return rows.map(row => row.address)
}
