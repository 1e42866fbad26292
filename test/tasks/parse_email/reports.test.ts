import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { findReturnPathParty } from '#flows/receiving/find_return_path.ts'
import { returnPathLocal } from '#lib/mail/return_path.ts'
import { findEmail } from '#sql/sending/emails.ts'
import { upsertSuppressions } from '#sql/suppressions/suppression_changes.ts'
import { check_reputation } from '#tasks/check_reputation.ts'
import { parse_email } from '#tasks/parse_email.ts'
import { purge } from '#tasks/purge.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { startApi } from '#test/support/api.ts'
import { startReceiving } from '#test/support/database/states.ts'
import { appleUnsubscribe, complaints } from '#test/support/mail/bounces/complaints.ts'
import { receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newListener, takeEvents, takeEventTypes } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const world = await openWorld(t, { SMTP_PORT: '0', PAUSE_BOUNCE_RATE: '10' })
const { pool } = world
const query = (text: string, values: unknown[] = []) => pool.pg.query(text, values).then(result => result.rows)
const inbox = await startInbox(t)
const smtp = await startSmtp(world)
t.teardown(() => smtp.stop())
const work = openWork(t, world, inbox.url)
const captured = openWork(t, world, 'capture')

/** Sends an email to one recipient; returns its id and its return path. */
async function send(account: TestAccount, to = 'ann@y.com'): Promise<{ id: string; path: string }> {
  const id = await acceptEmail(world, account, { to: [to] })
  await deliverEmails(captured, [id])
  const [row] = await query(
    'SELECT mail_from FROM captured_messages m JOIN deliveries d ON d.id = m.delivery_id WHERE d.email_id = $1',
    [id],
  )
  return { id, path: row.mail_from }
}

/** Delivers messages in one connection, parses them, and returns the replies to RCPT. */
async function deliver(messages: { to: string; raw: string; from?: string }[]): Promise<string[]> {
  const socket = connect(smtp.port, '127.0.0.1').setEncoding('latin1')
  const lines: string[] = []
  const waiting: ((line: string) => void)[] = []
  let rest = ''
  socket.on('data', chunk => {
    const parts = (rest + chunk).split('\r\n')
    rest = parts.pop() ?? ''
    for (const line of parts.filter(part => part[3] !== '-'))
      waiting.length > 0 ? waiting.shift()?.(line) : lines.push(line)
  })
  const next = async () => lines.shift() ?? new Promise<string>(resolve => waiting.push(resolve))
  const say = (command: string) => {
    socket.write(`${command}\r\n`)
    return next()
  }
  await next()
  await say('EHLO mx.example')
  const replies: string[] = []
  for (const { to, raw, from = '' } of messages) {
    await say(`MAIL FROM:<${from}>`)
    const reply = await say(`RCPT TO:<${to}>`)
    replies.push(reply)
    if (reply.startsWith('250')) {
      await say('DATA')
      await say(`${raw.replaceAll(/^\./gm, '..')}\r\n.`)
    } else await say('RSET')
  }
  socket.end('QUIT\r\n')
  await once(socket, 'close')
  await readAll()
  return replies
}

async function readAll(): Promise<void> {
  for (const row of await query(`SELECT account_id, id FROM received_emails WHERE state = 'stored' ORDER BY id`)) {
    await parse_email({ ids: [row] }, captured)
  }
}

const notice = (recipient: string, { action = 'failed', status = '5.1.1', words = 'No such user' } = {}) =>
  `From: MAILER-DAEMON@mx.example\r\nTo: x\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n\r\nSorry.\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\nFinal-Recipient: rfc822; ${recipient}\r\nAction: ${action}\r\nStatus: ${status}\r\nDiagnostic-Code: smtp; ${status[0]}50 ${status} ${words}\r\n\r\n--b--`

const suppressed = async (account: TestAccount) =>
  (await query('SELECT address, reason FROM suppressions WHERE account_id = $1 ORDER BY address', [account.id])).map(
    row => `${row.address} ${row.reason}`,
  )

t.test('a bounce whose reason Postgres cannot store is applied', async t => {
  const account = await newAccount(world)
  const { id, path } = await send(account)
  await deliver([{ to: path, raw: notice('ann@y.com', { words: 'No such\0user' }) }])
  const { status, events } = await readEmail(world, account, id)
  t.equal(status, 'bounced')
  t.match(events.at(-1), { type: 'bounced', bounce: { message: '550 5.1.1 No such?user' } })
  t.strictSame(await suppressed(account), ['ann@y.com bounce'])
})

t.test('a bounce by SMTP turns delivered into bounced and suppresses', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const draft = { from: `hello@${account.domain}`, to: ['gone@y.com'], subject: 'Hello', text: 'Hello' }
  const id = (await api.request('POST', '/api/emails', { body: draft })).body.id as string
  await send_emails({ email_ids: [id] }, work)
  const [sent] = await inbox.waitFor(1)
  await work.sender.idle()
  t.equal((await readEmail(world, account, id)).status, 'delivered')

  shows(t, await deliver([{ to: sent?.mail_from ?? '', raw: notice('gone@y.com') }]), [/^250/])
  const shown = await api.request('GET', `/api/emails/${id}`)
  shows(t, shown.body, { status: 'bounced', last_event: 'bounced' })
  t.match((await readEmail(world, account, id)).events.at(-1), {
    type: 'bounced',
    recipient: 'gone@y.com',
    class: 'recipient',
    bounce: { type: 'Permanent', subType: 'NoEmail', message: '550 5.1.1 No such user' },
  })
  t.strictSame(await suppressed(account), ['gone@y.com bounce'])
  t.strictSame((await api.request('GET', '/api/emails/receiving')).body, { object: 'list', has_more: false, data: [] })

  await deliver([{ to: sent?.mail_from ?? '', raw: notice('gone@y.com', { status: '5.2.2' }) }])
  const again = await readEmail(world, account, id)
  t.equal(again.events.filter(event => event.type === 'bounced').length, 1, 'a second one changes nothing')
})

t.test(
  'a bounce counts from any sender if it came to the return path with the null sender and the message',
  async t => {
    const account = await newAccount(world)
    const text = 'Your mail could not be delivered to <ann@y.com>.\r\n550 5.1.1 No such user\r\n'
    const head = 'From: no-reply@gateway.example\r\nSubject: Mail\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'
    const message = `Content-Type: message/rfc822\r\n\r\nFrom: hello@${account.domain}\r\nTo: ann@y.com\r\n\r\nHello\r\n`
    const raw = `${head}--b\r\n\r\n${text}--b\r\n${message}--b--\r\n`
    const rows: [status: string, raw: string, from?: string][] = [
      ['bounced', raw],
      ['bounced', `${head.replace(/C.*/, '')}\r\n${text}\r\nReceived: from mailbrook.test\r\n`],
      ['bounced', raw.replace('no-reply@gateway.example', 'Mail Robot <MAILER-DAEMON>')],
      ['bounced', raw.replace('mixed;', 'report; report-type=delivery-status;').replace(/From: n.*\r\n/, '')],
      ['delivered', raw, 'no-reply@gateway.example'],
      ['delivered', raw.replace('Subject', 'Auto-Submitted: auto-replied\r\nSubject')],
      ['delivered', `${head.replace(/C.*/, '')}\r\nI cannot be reached. ann@y.com is no longer valid.\r\n`],
    ]
    for (const [expected, given, from = ''] of rows) {
      const { id, path } = await send(account)
      await deliver([{ to: path, raw: given, from }])
      t.equal((await readEmail(world, account, id)).status, expected, given)
      await query('DELETE FROM suppressions WHERE account_id = $1', [account.id])
    }
  },
)

t.test('a late bounce gets the same outcome as a rejection in the session', async t => {
  const account = await newListener(world)
  const rows: [status: string, words: string, verdict: string, reason: string][] = [
    ['5.1.1', 'No such user', 'bounced recipient', 'The receiver refused the recipient.'],
    ['5.2.2', 'Mailbox full', 'bounced recipient', 'The receiver refused the recipient.'],
    ['5.7.1', 'Blocked by policy', 'failed policy', 'The receiver refused it by its policy.'],
    ['5.6.0', 'Message has a virus', 'failed content', 'The receiver refused the message.'],
    ['5.3.4', 'Message too big', 'failed size', 'The receiver refused the message for its size.'],
    ['5.1.8', 'Sender domain not found', 'failed sender', 'The receiver refused the sender.'],
    ['4.4.7', 'Message expired', 'failed transient', 'The receiver could not take it at the time.'],
  ]
  for (const [status, words, verdict, reason] of rows) {
    const to = `r${status}@y.com`
    const { id, path } = await send(account, to)
    await takeEvents(world, account.id)
    await deliver([{ to: path, raw: notice(to, { status, words }) }])
    const [outcome = '', cause = ''] = verdict.split(' ')
    const { status: now, last_event, events } = await readEmail(world, account, id)
    const event = events.at(-1) as Record<string, unknown>
    const shown = [now, last_event, event.type, event.class, event.reason]
    t.same(shown, [outcome, outcome, outcome, cause, reason], status)
    const types = outcome === 'bounced' ? ['email.bounced', 'suppression.added'] : ['email.failed']
    t.same((await takeEventTypes(world, account.id)).sort(), types, status)
  }
  t.same(await suppressed(account), ['r5.1.1@y.com bounce', 'r5.2.2@y.com bounce'])
  const ends = await query('SELECT expires_at FROM suppressions WHERE account_id = $1 ORDER BY address', [account.id])
  t.equal(ends[0].expires_at, null)
  t.ok(ends[1].expires_at > new Date(), 'a full mailbox is suppressed for a time')
})

t.test('a notice of delay changes nothing', async t => {
  const account = await newAccount(world)
  const late = await send(account, 'b@y.com')
  await deliver([{ to: late.path, raw: notice('b@y.com', { status: '4.4.1', action: 'delayed' }) }])
  const { status, last_event } = await readEmail(world, account, late.id)
  t.same([status, last_event], ['delivered', 'delivered'])
  t.same(await suppressed(account), [])
})

t.test('a report about the members of a list counts if all of them failed', async t => {
  const account = await newAccount(world)
  for (const [action, expected] of [
    ['delivered', 'delivered'],
    ['failed', 'bounced'],
  ] as const) {
    const { id, path } = await send(account, 'list@y.com')
    const second = `Final-Recipient: rfc822; two@z.com\r\nAction: ${action}\r\nStatus: 5.1.1\r\n\r\n--b--`
    await deliver([{ to: path, raw: notice('one@z.com').replace('--b--', second) }])
    t.equal((await readEmail(world, account, id)).status, expected, action)
  }
})

t.test('100 forged reports change nothing, 100 true ones count', async t => {
  const account = await newAccount(world)
  const other = await newAccount(world)
  await pool.pg.query('UPDATE domains SET receiving = true WHERE id = ANY($1)', [[account.domain_id, other.domain_id]])
  const ids = await Promise.all(Array.from({ length: 2 }, (_, n) => acceptEmail(world, account, { to: recipients(n) })))
  await deliverEmails(captured, ids)
  const rows = await query(
    `SELECT d.recipient, d.id, m.mail_from FROM deliveries d JOIN captured_messages m ON m.delivery_id = d.id
     WHERE d.account_id = $1 ORDER BY d.recipient`,
    [account.id],
  )
  t.equal(rows.length, 100)
  const foreign = (await send(other, 'mallory@y.com')).path
  const edit = (text: string, at: number) => text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1)
  const unsigned = { sign: () => Buffer.alloc(32) }
  const forged = rows.map(({ recipient, id, mail_from }, n) => {
    const domain = mail_from.replace(/.*@/, '')
    const arf = (token: string) => complaints(token)[n % 14]?.[1] ?? ''
    const kinds = [
      { to: edit(mail_from, 2 + (n % 40)), raw: notice(recipient) },
      { to: `${returnPathLocal(id, unsigned)}@${domain}`, raw: notice(recipient) },
      { to: `hello@${domain}`, raw: notice(recipient) },
      { to: `hello@${domain}`, raw: notice(recipient).replace('Sorry.', mail_from) },
      { to: `b-${id}@${domain}`, raw: notice(recipient) },
      { to: foreign, raw: notice(recipient) },
      { to: `${mail_from.replace(/@.*/, '')}@${other.domain}`, raw: notice(recipient) },
      { to: `hello@${domain}`, raw: arf(edit(mail_from, 2 + (n % 40))) },
      { to: `hello@${domain}`, raw: arf(recipient) },
      { to: `hello@${domain}`, raw: notice(recipient), from: mail_from },
    ]
    return kinds[n % kinds.length] as { to: string; raw: string; from?: string }
  })
  await deliver(forged)
  t.strictSame(await suppressed(account), [])
  t.strictSame(
    await query(`SELECT state FROM deliveries WHERE account_id = $1 AND state <> 'delivered'`, [account.id]),
    [],
  )
  t.strictSame(await suppressed(other), ['mallory@y.com bounce'], 'whose return path it was')

  const replies = await deliver(
    rows.map(({ recipient, mail_from }, n) => {
      if (n % 3 === 0) return { to: `fbl@${other.domain}`, raw: complaints(mail_from)[n % 14]?.[1] ?? '' }
      // After forwarding, the report may name another address.
      return {
        to: n % 3 === 1 ? mail_from.toUpperCase() : mail_from,
        raw: notice(n % 2 ? recipient : 'forwarded@z.com'),
      }
    }),
  )
  t.ok(replies.every(reply => reply.startsWith('250')))
  const counts = await query(
    `SELECT count(*) FILTER (WHERE state = 'bounced')::int AS bounced, count(*) FILTER (WHERE complained)::int AS complained
     FROM deliveries WHERE account_id = $1`,
    [account.id],
  )
  t.strictSame(counts, [{ bounced: 66, complained: 34 }])
  const list = await suppressed(account)
  t.equal(list.filter(line => line.endsWith(' bounce')).length, 66)
  t.equal(list.filter(line => line.endsWith(' complaint')).length, 34)
})

t.test('a complaint is final for status, events and suppression', async t => {
  const account = await newAccount(world)
  const { id, path } = await send(account, 'ann@y.com')
  const raw = complaints(path)[0]?.[1] ?? ''
  await deliver([
    { to: path, raw },
    { to: path, raw },
    { to: path, raw: notice('ann@y.com') },
  ])
  const email = await readEmail(world, account, id)
  shows(t, email, { status: 'complained', last_event: 'complained' })
  t.strictSame(email.events.map(event => event.type).sort(), ['complained', 'delivered', 'sent'])
  t.strictSame(await suppressed(account), ['ann@y.com complaint'])
})

t.test('a complaint unsubscribes the address from everything once, whether it is a contact or not', async t => {
  const account = await newListener(world, ['contact.updated'])
  const api = await startApi(t, world, account.key)
  const save = (email: string) => api.request('POST', '/api/contacts', { body: { email, domain: account.domain } })
  const { id } = (await save('ann@y.com')).body
  for (const to of ['Ann@y.com', 'new@y.com']) {
    for (const { path } of [await send(account, to), await send(account, to)]) {
      for (const _ of [1, 2]) await deliver([{ to: path, raw: complaints(path)[0]?.[1] ?? '' }])
    }
    await api.request('DELETE', `/api/suppressions/${to}`)
  }
  shows(t, await takeEvents(world, account.id), [{ type: 'contact.updated', data: { id, unsubscribed: true } }])
  await save('new@y.com')
  for (const email of ['ann@y.com', 'new@y.com']) {
    shows(t, (await api.request('GET', `/api/contacts/${email}`)).body, {
      unsubscribed: true,
      consents: [{ topic_id: null, subscription: 'opt_out', how: 'complaint' }],
    })
  }
})

t.test('a complaint suppresses and unsubscribes the address whatever became of the email', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  // Queued again: it was in doubt.
  const states = ['bounced', 'failed', 'queued']
  for (const state of states) {
    const address = `${state}@y.com`
    await api.request('POST', '/api/contacts', { body: { email: address, domain: account.domain } })
    const { id, path } = await send(account, address)
    const next_at = state === 'queued' ? new Date(Date.now() + 900_000) : null
    await query('UPDATE deliveries SET state = $1, next_at = $2 WHERE email_id = $3', [state, next_at, id])
    for (const _ of [1, 2]) await deliver([{ to: path, raw: complaints(path)[0]?.[1] ?? '' }])
    t.strictSame(await query('SELECT state, complained FROM deliveries WHERE email_id = $1', [id]), [
      { state, complained: false },
    ])
    t.equal(Object((await api.request('GET', `/api/contacts/${address}`)).body).unsubscribed, true, state)
  }
  t.strictSame(
    await suppressed(account),
    states.map(state => `${state}@y.com complaint`),
  )
})

t.test('a complaint that ends stays the reason when its address bounces, and takes the later end', async t => {
  const account = await newListener(world, ['suppression.added'])
  const { id, path } = await send(account)
  const entry = { id: uuid(), address: 'ann@y.com', reason: 'complaint' as const, expires_at: '2999-01-01T00:00:00Z' }
  await pool.transaction(tx => upsertSuppressions(tx, account.id, [entry]))
  await takeEvents(world, account.id)
  await deliver([{ to: path, raw: notice('ann@y.com') }])
  t.equal((await readEmail(world, account, id)).status, 'bounced')
  t.strictSame(await query('SELECT reason, cause, expires_at FROM suppressions WHERE account_id = $1', [account.id]), [
    { reason: 'complaint', cause: null, expires_at: null },
  ])
  t.strictSame(await takeEvents(world, account.id), [], 'it was suppressed already')
})

t.test('a complaint without a feedback part is matched by its return path', async t => {
  const account = await newAccount(world)
  for (const [n, raw] of [appleUnsubscribe, complaints('x@y.com')[14]?.[1] ?? ''].entries()) {
    const { id, path } = await send(account, `a${n}@y.com`)
    await deliver([{ to: path, raw, from: 'ann@icloud.com' }])
    t.equal((await readEmail(world, account, id)).status, 'complained')
  }
  t.same(await suppressed(account), ['a0@y.com complaint', 'a1@y.com complaint'])
})

t.test('a report that arrives before the result is stored is retried', async t => {
  const account = await newAccount(world)
  const { id, path } = await send(account)
  const lease = `state = 'sending', phase = 'dot', lease_owner = gen_random_uuid(), lease_until = now() + interval '1 hour'`
  await query(`UPDATE deliveries SET ${lease} WHERE email_id = $1`, [id])
  await t.rejects(deliver([{ to: path, raw: notice('ann@y.com') }]), /before the result/)
  const given = `state = 'delivered', phase = NULL, lease_owner = NULL, lease_until = NULL`
  await query(`UPDATE deliveries SET ${given} WHERE email_id = $1`, [id])
  await readAll()
  t.equal((await findEmail(pool, account.id, id))?.status, 'bounced')
})

t.test('unreadable mail to a return path stays hidden, and reports are deleted with their raw message', async t => {
  const account = await newAccount(world)
  const { path } = await send(account)
  const mine = `me@${account.domain}`
  await startReceiving(world, account.domain_id)
  const bomb = `From: a@y.com\r\n${'X: y\r\n'.repeat(250_000)}`
  await receive(captured, account, bomb, { received_for: [path] })
  await receive(captured, account, bomb, { received_for: [path, mine] })
  await deliver([
    { to: path, raw: notice('ann@y.com') },
    { to: mine, raw: 'Subject: x\r\n\r\nx' },
  ])
  const kinds = () =>
    query('SELECT state, kind FROM received_emails WHERE account_id = $1 ORDER BY kind, state', [account.id])
  const post = [
    { state: 'parsed', kind: 'email' },
    { state: 'unreadable', kind: 'email' },
  ]
  const reports = post.map(({ state }) => ({ state, kind: 'report' }))
  t.strictSame(await kinds(), [...post, ...reports])
  await purge({}, captured)
  t.strictSame(await kinds(), [...post, ...reports])
  await query(`UPDATE received_emails SET created_at = now() - interval '31 days' WHERE account_id = $1`, [account.id])
  await purge({}, captured)
  t.strictSame(await kinds(), post)
})

t.test('check_reputation counts late bounces and late rejections', async t => {
  const account = await newAccount(world)
  const ids = await Promise.all(Array.from({ length: 4 }, (_, n) => acceptEmail(world, account, { to: recipients(n) })))
  await deliverEmails(captured, ids)
  const rows = await query(
    'SELECT recipient, mail_from FROM captured_messages m JOIN deliveries d ON d.id = m.delivery_id WHERE d.account_id = $1 LIMIT 41',
    [account.id],
  )
  const causes = [
    { status: '5.1.1', words: 'No such user' },
    { status: '5.7.1', words: 'Blocked' },
    { status: '5.6.0', words: 'Message has a virus' },
    { status: '5.3.4', words: 'Message too big' },
    { status: '4.4.7', words: 'Message expired' },
  ]
  await deliver(
    rows.map(({ recipient, mail_from }, n) => {
      // 7 of each of the first three, 10 of each of the others.
      const cause = n < 21 ? n % 3 : 3 + (n % 2)
      return { to: mail_from, raw: notice(recipient, causes[cause]) }
    }),
  )
  await check_reputation({}, { ...captured, config: world.config })
  const [row] = await query('SELECT pause_reason FROM accounts WHERE id = $1', [account.id])
  t.equal(row.pause_reason, '21 of the last 200 recipients bounced.')
})

t.test('return paths are accepted only at the domain of the sender and RETURN_PATH_DOMAIN', async t => {
  const account = await newAccount(world)
  await pool.pg.query('UPDATE domains SET return_path_verified = true WHERE id = $1', [account.domain_id])
  const { path } = await send(account)
  t.match(path, new RegExp(`@send.${account.domain}$`))
  const [local] = path.split('@')
  const replies = await deliver(
    [path, `${local}@${account.domain}`, `${local}@y.com`, `${local}@mailbrook.test`].map(to => ({
      to,
      raw: 'Subject: x\r\n\r\nx',
    })),
  )
  t.strictSame(
    replies.map(reply => reply.slice(0, 3)),
    ['250', '250', '550', '550'],
  )
  const config = { RETURN_PATH_DOMAIN: 'bounces.z.com' }
  const readTokenKeys = createReadTokenKeys(world)
  const dependencies = { ...world, config, readTokenKeys }
  t.match(await findReturnPathParty(dependencies, `${local}@bounces.z.com`), { account_id: account.id })
  t.equal(await findReturnPathParty(dependencies, `${local}@z.com`), null)
})

const recipients = (n: number) => Array.from({ length: 50 }, (_, i) => `r${n}x${i}@y.com`)
