import t from 'tap'
import { v7 as uuid } from 'uuid'
import { parse_email } from '#tasks/parse_email.ts'
import { startApi } from '#test/support/api.ts'
import { startReceiving } from '#test/support/database/states.ts'
import { newReceiver } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { openClient } from '#test/support/smtp/smtp_client.ts'
import { query as queryString } from '#test/support/varied_emails.ts'
import { addDomain, openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const SETTINGS = { SMTP_PORT: '0', SMTP_GREETING_DELAY_MS: '0', SERVER_DOMAIN: 'mx.mailbrook.test' }
const world = await openWorld(t, SETTINGS)
const operator = await newReceiver(world)
const account = await newReceiver(world)
const api = await startApi(t, world, account.key)
const smtp = await startSmtp(world)
t.teardown(() => smtp.stop())
const work = openWork(t, world)
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values).then(result => result.rows)

const path = '/api/emails/receiving'

// As written in RCPT, and as shown by the API.
const locals: [string, string][] = [
  ['ü', 'ü'],
  ['用户.名', '用户.名'],
  ['χρήστης+tag', 'χρήστης+tag'],
  ['"John Doe"', '"John Doe"'],
  ['"a..b"', '"a..b"'],
  ['""', '""'],
  ['"<a>,(b):;[c]"', '"<a>,(b):;[c]"'],
  ['"a\\"b\\\\c"', '"a\\"b\\\\c"'],
  ['"ü x"', '"ü x"'],
  ['"plain.local"', 'plain.local'],
  ['"\\e\\s\\c"', 'esc'],
]

t.test('mail waits at its sender while enabling sending verifies the domain again', async t => {
  const { id, domain, domain_id, key } = await newReceiver(world)
  await query('UPDATE domains SET sending = false WHERE account_id = $1', [id])
  const client = await openClient(t, smtp.port)
  await client.command('MAIL FROM:<x@y.com>')
  const body = { capabilities: { sending: 'enabled' } }
  t.equal((await api.request('PATCH', `/api/domains/${domain_id}`, { body, key })).status, 200)
  t.match(await client.command(`RCPT TO:<me@${domain}>`), /^450 4\.2\.1 /)
  t.match(await client.command('RCPT TO:<me@unknown.com>'), /^550 5\.7\.1 /)
  await query(`UPDATE domains SET status = 'failed' WHERE account_id = $1`, [id])
  t.match(await client.command(`RCPT TO:<you@${domain}>`), /^550 5\.7\.1 /)
})

t.test('mail to international and quoted local parts is received, stored and shown', async t => {
  const client = await openClient(t, smtp.port)
  t.match(client.heard, /^250-SMTPUTF8\r$/m)
  for (const [local, shown] of locals) {
    const to = `${shown}@${account.domain}`
    const from = `"Jürgen S" <jü@y.com>`
    await client.command('MAIL FROM:<jü@y.com> SMTPUTF8')
    t.match(await client.command(`RCPT TO:<${local}@${account.domain.toUpperCase()}>`), /^250 /, local)
    await client.command('DATA')
    t.match(
      await client.command(`From: ${from}\r\nTo: ${local}@${account.domain}\r\nSubject: x\r\n\r\nHi\r\n.`),
      /^250 /,
    )
    const [row] = await query('SELECT account_id, id FROM received_emails ORDER BY id DESC LIMIT 1')
    await parse_email({ ids: [row] }, work)
    const { body } = await api.request('GET', `${path}/${row.id}`)
    t.match(body, { mail_from: 'jü@y.com', from: 'jü@y.com', from_name: 'Jürgen S' })
    t.same((body as unknown as { received_for: string[] }).received_for, [to])
    const filters: Record<string, string>[] = [{ to }, { from: 'JÜ@y.com', to }]
    for (const filter of filters) {
      const list = await api.request('GET', `${path}?${queryString(filter)}`)
      t.same(
        list.body.data.map(({ id }) => id),
        [row.id],
        `${local} ${JSON.stringify(filter)}`,
      )
    }
  }
})

t.test('a mailbox quoted in different ways is one recipient', async t => {
  const client = await openClient(t, smtp.port)
  const to = ['me', '"me"', '"m\\e"', 'ME'].map(local => `${local}@${account.domain}`)
  t.match(await client.send(to, `Message-ID: <${uuid()}@y.com>\r\n\r\nx`), /^250 /)
  const [row] = await query('SELECT received_for FROM received_emails ORDER BY id DESC LIMIT 1')
  t.same(row.received_for, [`ME@${account.domain}`])
})

t.test('the Return-Path of a raw message keeps quoted and international senders', async t => {
  const client = await openClient(t, smtp.port)
  for (const from of ['"a b"@y.com', 'jü@y.com', '"q\\"x"@y.com']) {
    t.match(await client.send(`me@${account.domain}`, `Subject: ${uuid()}\r\n\r\nx`, from), /^250 /)
    const [row] = await query('SELECT account_id, id, mail_from FROM received_emails ORDER BY id DESC LIMIT 1')
    t.equal(row.mail_from, from)
    await parse_email({ ids: [row] }, work)
    const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
    const raw = await fetch(`${api.url}${path}/${row.id}/raw`, { headers })
    t.ok((await raw.text()).startsWith(`Return-Path: <${from}>\r\nReceived: from client.test ([127.0.0.1])\r\n`))
  }
})

t.test('sending to or from an international or quoted address is refused with an explanation', async t => {
  const draft = { from: `ann@${account.domain}`, to: 'b@y.com', subject: 'x', text: 'x' }
  const cases: [object, string, RegExp][] = [
    [
      { to: 'ü@y.com' },
      'invalid_to_address',
      /^`to` is "ü@y.com"\. Addresses with non-ASCII local parts are received, but cannot/,
    ],
    [
      { cc: ['Ann <"a b"@y.com>'] },
      'invalid_to_address',
      /^`cc\[0\]` is .*\. Addresses with quoted local parts are received,/,
    ],
    [{ from: `ü@${account.domain}` }, 'invalid_from_address', /Addresses with non-ASCII local parts/],
    [{ reply_to: 'ü@y.com' }, 'validation_error', /Addresses with non-ASCII local parts/],
    [{ to: 'ü@y' }, 'invalid_to_address', /^`to` must be `email@domain`/],
  ]
  for (const [fields, name, message] of cases) {
    const { status, body } = await api.request('POST', '/api/emails', { body: { ...draft, ...fields } })
    t.match({ status, body }, { status: 422, body: { name, message } })
  }
})

t.test('postmaster without a domain is the operator’s, with a domain its owner’s', async t => {
  const receivedBy = async (to: string, port = smtp.port) => {
    const client = await openClient(t, port)
    t.match(await client.send(to, `Subject: ${uuid()}\r\n\r\nx`), /^250 /)
    return (await query('SELECT account_id, domain_id, received_for FROM received_emails ORDER BY id DESC LIMIT 1'))[0]
  }
  const bare = 'postmaster@mx.mailbrook.test'
  t.same(await receivedBy('PostMaster'), { account_id: operator.id, domain_id: null, received_for: [bare] })
  const other = await startSmtp({ ...world, config: { ...world.config, OPERATOR_ACCOUNT: account.id } })
  t.teardown(() => other.stop())
  t.equal((await receivedBy('postmaster', other.port)).account_id, account.id)
  const mine = `postmaster@${account.domain}`
  t.same(await receivedBy(mine), { account_id: account.id, domain_id: account.domain_id, received_for: [mine] })

  const server = { account_id: account.id, id: uuid(), name: 'mx.mailbrook.test', status: 'verified' as const }
  await addDomain(world.pool, world.secrets, server)
  await startReceiving(world, server.id)
  t.equal((await receivedBy('postmaster')).account_id, operator.id)
  t.same(await receivedBy(bare), { account_id: account.id, domain_id: server.id, received_for: [bare] })

  const client = await openClient(t, other.port)
  t.match(await client.send(['postmaster', bare, mine], `Subject: ${uuid()}\r\n\r\nx`), /^250 /)
  const [row] = await query('SELECT domain_id, received_for FROM received_emails ORDER BY id DESC LIMIT 1')
  t.same(row, { domain_id: server.id, received_for: [bare, mine] }, 'all of them belong to one account')

  const lost = await startSmtp({ ...world, config: { ...world.config, OPERATOR_ACCOUNT: 'nobody' } })
  t.teardown(() => lost.stop())
  const stranger = await openClient(t, lost.port)
  await stranger.command('MAIL FROM:<>')
  t.match(await stranger.command('RCPT TO:<postmaster>'), /^451 4\.3\.0 /)
})
