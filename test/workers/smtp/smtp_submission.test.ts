import { createTransport } from 'nodemailer'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { generateApiKey } from '#lib/api_key.ts'
import { createLog } from '#lib/log.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { startApi } from '#test/support/api.ts'
import { formsOf } from '#test/support/database/dump.ts'
import { givePlan } from '#test/support/database/states.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { connectClient, openClient } from '#test/support/smtp/smtp_client.ts'
import { acceptedId, listenForSubmission, logIn, openTls, submissionSettings } from '#test/support/smtp/submission.ts'
import { newListener, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, await submissionSettings(t))
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const port = await listenForSubmission(t, world)
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values).then(result => result.rows)

t.test('a message submitted by SMTP is sent like POST /emails', async t => {
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'anybody', pass: account.sending_key },
  })
  t.teardown(() => transport.close())
  const sent = await transport.sendMail({
    from: `Åsa <asa@${account.domain}>`,
    to: ['"Doe, J." <j@y.com>', 'k@y.com'],
    cc: 'c@y.com',
    bcc: 'hidden@y.com',
    replyTo: `help@${account.domain}`,
    subject: 'Räksmörgås',
    text: 'Hello\n',
    html: '<p>Hello</p>',
    headers: { 'X-Order': '17', 'In-Reply-To': '<a@b.com>' },
    attachments: [{ filename: 'ü.txt', content: 'a file' }],
  })
  const [, id = ''] = /^250 2\.0\.0 Accepted as (\S+)$/.exec(sent.response) ?? []
  const { body } = await api.request('GET', `/api/emails/${id}`)
  shows(t, body, {
    from: `Åsa <asa@${account.domain}>`,
    to: ['"Doe, J." <j@y.com>', 'k@y.com'],
    cc: ['c@y.com'],
    bcc: ['hidden@y.com'],
    reply_to: [`help@${account.domain}`],
    subject: 'Räksmörgås',
    html: /^<p>Hello<\/p>/,
    text: /^Hello\n/,
    status: 'queued',
  })
  const [{ headers }] = await query('SELECT headers FROM email_contents WHERE email_id = $1', [id])
  t.strictSame(headers, { 'X-Order': '17', 'In-Reply-To': '<a@b.com>', Date: headers.Date })
  const files = await query(
    'SELECT filename, content_type, size FROM attachments a JOIN blobs b ON b.id = a.blob_id WHERE email_id = $1',
    [id],
  )
  shows(t, files, [{ filename: 'ü.txt', content_type: 'text/plain', size: 6 }])
  t.strictSame((await recipientsOf(id)).sort(), ['c@y.com', 'hidden@y.com', 'j@y.com', 'k@y.com'])
})

t.test('a message goes to its envelope recipients, whatever its header says', async t => {
  const client = await logIn(t, account.key, port)
  const raw = `From: a@${account.domain}\r\nTo: One@y.com, two@y.com\r\nSubject: x\r\n\r\nHello`
  for (const to of ['one@y.com', 'two@y.com']) {
    const id = acceptedId(await client.send(to, raw))
    t.strictSame(
      (await recipientsOf(id)).map(recipient => recipient.toLowerCase()),
      [to],
    )
  }
})

t.test('an address of the envelope gets one copy, however the header spells it', async t => {
  const client = await logIn(t, account.key, port)
  const header = `From: a@${account.domain}\r\nTo: Bob <Bob@y.com>\r\nCc: bob@y.com, BOB@y.com\r\n`
  for (const envelope of [['bob@y.com'], ['bob@y.com', 'Bob@y.com']]) {
    const id = acceptedId(await client.send(envelope, `${header}Subject: x\r\n\r\nHello`))
    t.strictSame(await recipientsOf(id), ['Bob@y.com'])
  }
})

t.test('recipients that are only in the envelope are hidden, like Bcc', async t => {
  const listener = await newListener(world)
  const { request } = await startApi(t, world, listener.key)
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const client = await logIn(t, listener.key, port)
  const nobody = { to: [], cc: [], lines: ['To: undisclosed-recipients:;'] }
  const cases: [string, { to: string[]; cc: string[]; lines: string[] }][] = [
    ['', nobody],
    ['To: undisclosed-recipients:;\r\n', nobody],
    ['To: Undisclosed recipients <>\r\nBcc: <a@hidden.com>, b@hidden.com\r\n', nobody],
    ['Cc: C <c@y.com>\r\n', { to: [], cc: ['C <c@y.com>'], lines: ['Cc: C <c@y.com>'] }],
    ['To: d@y.com\r\n', { to: ['d@y.com'], cc: [], lines: ['To: d@y.com'] }],
  ]
  for (const [header, { to, cc, lines }] of cases) {
    const shown = [...to, ...cc].map(text => text.replace(/.*<|>/g, ''))
    for (const bcc of [['a@hidden.com', 'b@hidden.com'], ['a@hidden.com']]) {
      const envelope = [...bcc, ...shown]
      const raw = `From: x@${listener.domain}\r\n${header}Subject: x\r\n\r\nHello`
      const id = acceptedId(await client.send([...envelope, 'A@hidden.com'], raw))
      const begin = inbox.messages.length
      await deliverEmails(work, [id])
      const arrived = inbox.messages.slice(begin)
      t.strictSame(arrived.flatMap(({ rcpt_to }) => rcpt_to.map(rcpt => rcpt.toLowerCase())).sort(), envelope.sort())
      for (const message of arrived) {
        const text = message.raw.toString()
        t.strictSame(text.match(/^(?:to|cc|bcc):.*$/gim), lines, header)
        t.notMatch(text, /hidden/i)
      }
      const { body } = await request('GET', `/api/emails/${id}`)
      shows(t, body, { to, cc, bcc: bcc.map(address => new RegExp(`^${address}$`, 'i')), status: 'delivered' })
      const events = await takeEvents(world, listener.id)
      t.strictSame(events.find(({ type }) => type === 'email.sent')?.data.to, to)
      t.equal(events.filter(({ type }) => type === 'email.delivered').length, envelope.length)
    }
  }
  const found = await request('GET', '/api/emails?q=hidden.com')
  t.equal(found.body.data.length, 2 * cases.length)
})

t.test('a message may have 100 envelope recipients, and more in its header', async t => {
  const client = await logIn(t, account.key, port)
  const envelope = Array.from({ length: 100 }, (_, i) => `r${i}@y.com`)
  const others = Array.from({ length: 100 }, (_, i) => `o${i}@y.com`)
  const list = (addresses: string[]) => addresses.join(',\r\n ')
  for (const header of ['', `To: ${list(envelope)}\r\nCc: ${list(others)}\r\n`]) {
    const id = acceptedId(await client.send(envelope, `From: a@${account.domain}\r\n${header}Subject: x\r\n\r\nHello`))
    t.strictSame((await recipientsOf(id)).sort(), envelope.toSorted())
  }
  await client.command('MAIL FROM:<a@y.com>')
  for (const recipient of envelope) await client.command(`RCPT TO:<${recipient}>`)
  t.match(await client.command('RCPT TO:<more@y.com>'), /^452 4\.5\.3 /)
})

t.test('a submitted message with unusual headers is accepted', async t => {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const client = await logIn(t, account.key, port)
  const custom = [
    'X_Foo: 1',
    'Comments: first',
    'Comments: second',
    'Keywords: a, b',
    'Keywords: c',
    'X-Tag: one',
    'X-Tag: two',
    `X-Long: ${'word '.repeat(2_000)}end`,
    ...Array.from({ length: 120 }, (_, i) => `X-${i}: ${i}`),
  ]
  const unwritable = ['X Foo: 1', `${'x'.repeat(65)}: 1`, 'X;A: 1', 'no colon']
  const subject = 'Subject: =?utf-8?q?one=0Atwo=0A?='
  const to = 'To: "J\u200e" <b@y.com>'
  const raw = [`From: a@${account.domain}`, to, subject, ...custom, ...unwritable, '', 'Hello'].join('\r\n')
  const id = acceptedId(await client.send('b@y.com', Buffer.from(raw)))
  await send_emails({ email_ids: [id] }, work)
  const [message] = await inbox.waitFor(1)
  const [head = ''] = (message?.raw.toString() ?? '').split('\r\n\r\n')
  const lines = head.replaceAll('\r\n ', ' ').split('\r\n')
  const own = /^(?:DKIM-Signature|From|Date|Message-ID|MIME-Version|Content-[\w-]+):/
  const sent = lines.filter(line => !own.test(line))
  // The order of fields with different names has no meaning and is not kept.
  t.strictSame(byName(sent), byName(['To: b@y.com', 'Subject: one two', ...custom]))
  const [{ headers }] = await query('SELECT headers FROM email_contents WHERE email_id = $1', [id])
  t.match(headers, { X_Foo: '1', Comments: 'first\nsecond', 'X-Tag': 'one\ntwo' })
})

t.test('a repeated message with a Message-ID is accepted once', async t => {
  const client = await logIn(t, account.key, port)
  const raw = `From: a@${account.domain}\r\nTo: b@y.com\r\nMessage-ID: <${uuid()}@y.com>\r\n\r\nHello`
  const first = acceptedId(await client.send('b@y.com', raw))
  t.equal(acceptedId(await client.send('b@y.com', raw)), first)
  t.not(acceptedId(await client.send('c@y.com', raw)), first)
})

t.test('errors of the API are returned in the SMTP reply', async t => {
  const other = await newAccount(world)
  const client = await logIn(t, account.key, port)
  const from = (address: string, more = '') => `From: ${address}\r\nTo: b@y.com\r\nSubject: x\r\n${more}\r\nHello`
  const cases: [string, RegExp][] = [
    [from(`a@${other.domain}`), /^554 5\.6\.0 validation_error: The .+ domain is not verified/],
    [from('nobody'), /^554 5\.6\.0 invalid_from_address: /],
    ['To: b@y.com\r\n\r\nHello', /^554 5\.6\.0 missing_required_field: Missing `from` field\./],
    ['From: a@x.com\r\nTo: <b..c@y.com>\r\n\r\nHello', /^554 5\.6\.0 invalid_to_address: /],
    [from(`a@${account.domain}`, 'Received: x\r\nDKIM-Signature: y\r\nReturn-Path: <z>\r\n'), /^250 /],
  ]
  for (const [raw, reply] of cases) t.match(await client.send('b@y.com', raw), reply, raw)
  await client.command('MAIL FROM:<a@y.com>')
  t.match(await client.command('RCPT TO:<"b c"@y.com>'), /^5/)

  await query('UPDATE accounts SET paused_at = now() WHERE id = $1', [account.id])
  t.match(
    await (await logIn(t, account.key, port)).send('b@y.com', from(`a@${account.domain}`)),
    /^550 5\.7\.1 reputation_paused: /,
  )
  await query('UPDATE accounts SET paused_at = NULL WHERE id = $1', [account.id])

  await givePlan(world, other, { emails_per_day: 0, emails_per_month: 0 })
  const quota = await logIn(t, other.key, port)
  t.match(await quota.send('b@y.com', from(`a@${other.domain}`)), /^452 4\.7\.1 daily_quota_exceeded: /)
})

t.test('a key limited to a domain sends only from it', async t => {
  const domain = { account_id: account.id, id: uuid(), name: `${uuid().slice(-12)}.com`, status: 'verified' as const }
  await addDomain(world.pool, world.secrets, domain)
  const permission = 'sending_access' as const
  const limits = { account_id: account.id, name: 'one domain', permission, domain_id: domain.id, expires_at: null }
  const client = await logIn(t, await createApiKey(world.pool, world.secrets, limits), port)
  const raw = (name: string) => `From: a@${name}\r\nTo: b@y.com\r\nSubject: x\r\n\r\nHello`
  t.match(await client.send('b@y.com', raw(domain.name)), /^250 /)
  t.match(await client.send('b@y.com', raw(account.domain)), /^554 5\.6\.0 validation_error: This API key may not send/)
})

t.test('a key is accepted only over TLS, and guessing is limited', async t => {
  const clear = await openClient(t, port)
  t.match(await clear.command(`AUTH PLAIN ${plain(account.key)}`), /^538 /)
  t.match(await clear.command('MAIL FROM:<a@y.com>'), /^530 /)
  const port2 = await listenForSubmission(t, world)
  for (let n = 0; n < 5; n++) {
    const client = await openTls(t, port2)
    t.match(await client.command(`AUTH PLAIN ${plain(`mb_${n}`)}`), /^535 5\.7\.8 invalid_api_key: /)
    client.socket.destroy()
  }
  const client = await openTls(t, port2)
  t.match(await client.command(`AUTH PLAIN ${plain(account.key)}`), /^421 4\.7\.0 /)
  await client.ended()
})

t.test('AUTH is offered only after STARTTLS', async t => {
  const client = await connectClient(t, port)
  await client.reply()
  const before = await client.command('EHLO client.test')
  t.match(before, /^250-STARTTLS$/m)
  t.notMatch(before, /AUTH/)
  t.match(await client.command('STARTTLS'), /^220 /)
  await client.upgrade()
  t.match(await client.command('EHLO client.test'), /^250-AUTH PLAIN LOGIN\r?$/m)
})

t.test('no log line contains an API key, whatever fails', async t => {
  const lines: string[] = []
  const log = createLog('trace', { write: line => void lines.push(line) })
  const logged = await listenForSubmission(t, { ...world, log })
  const stranger = generateApiKey()
  const raw = `From: a@${account.domain}\r\nTo: b@y.com\r\nSubject: x\r\n\r\nHello`
  const heard: string[] = []
  const without = async (table: string, act: () => Promise<string>) => {
    await query(`ALTER TABLE ${table} RENAME TO gone`)
    const reply = await act().finally(() => query(`ALTER TABLE gone RENAME TO ${table}`))
    t.match(reply, /^451 4\.3\.0 /)
  }
  const logInWith = async (key: string) => {
    const client = await openTls(t, logged)
    const reply = await client.command(`AUTH PLAIN ${plain(key)}`)
    heard.push(client.heard)
    return reply
  }
  const client = await logIn(t, account.key, logged)
  await without('email_contents', () => client.send('b@y.com', raw))
  await without('api_keys', () => logInWith(stranger))
  t.match(await logInWith(stranger), /^535 /)
  t.ok(lines.length >= 2, `${lines.length} lines`)
  for (const form of [account.key, stranger].flatMap(key => [...formsOf(key), plain(key)])) {
    t.notOk([...lines, ...heard].join('').includes(form))
  }
})

t.test('the rate limit counts sends by SMTP and the API together', async t => {
  const limited = { ...world, config: { ...world.config, SENDS_PER_MINUTE: 2 } }
  const client = await logIn(t, account.key, await listenForSubmission(t, limited))
  const raw = `From: a@${account.domain}\r\nTo: b@y.com\r\nSubject: x\r\n\r\nHello`
  for (const reply of [/^250 /, /^250 /]) t.match(await client.send('b@y.com', raw), reply)
  t.match(await client.command('MAIL FROM:<a@y.com>'), /^451 4\.7\.1 rate_limit_exceeded: /)
})

function plain(key: string): string {
  return Buffer.from(`\0user\0${key}`).toString('base64')
}

async function recipientsOf(id: string): Promise<string[]> {
  return (await query('SELECT recipient FROM deliveries WHERE email_id = $1', [id])).map(row => row.recipient)
}

/** Lines sorted by field name, keeping the order of equal names. */
function byName(lines: string[]): string[] {
  const nameOf = (line: string) => line.slice(0, line.indexOf(':'))
  return lines.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0))
}
