import { createTransport } from 'nodemailer'
import t from 'tap'
import { parse_email } from '#tasks/parse_email.ts'
import { startApi } from '#test/support/api.ts'
import { newReceiver } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const world = await openWorld(t, { SMTP_PORT: '0', SMTP_GREETING_DELAY_MS: '0' })
const account = await newReceiver(world)
const api = await startApi(t, world, account.key)
const smtp = await startSmtp(world)
t.teardown(() => smtp.stop())
const client = createTransport({ host: '127.0.0.1', port: smtp.port, ignoreTLS: true })
t.teardown(() => client.close())
const work = openWork(t, world)

t.test('a received message is stored, parsed and shown', async t => {
  const to = `me@${account.domain}`
  await client.sendMail({
    from: 'Örjan <orjan@y.com>',
    to,
    subject: 'Hej då',
    text: 'Hallå!',
    attachments: [{ filename: 'a.txt', content: 'a file' }],
  })
  const { rows } = await world.pool.pg.query('SELECT account_id, id FROM received_emails')
  await parse_email({ ids: rows }, work)

  const { body } = await api.request('GET', `/api/emails/receiving/${rows[0].id}`)
  shows(t, body, {
    object: 'received_email',
    domain_id: account.domain_id,
    to: [to],
    from: 'orjan@y.com',
    from_name: 'Örjan',
    subject: 'Hej då',
    text: 'Hallå!',
    received_for: [to],
    read: false,
    raw_available: true,
    attachments: [{ filename: 'a.txt', size: 6, downloadable: true }],
  })
  shows(t, (await api.request('GET', '/api/emails/receiving')).body, { has_more: false, data: [{ id: rows[0].id }] })
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
  const raw = await fetch(`${api.url}/api/emails/receiving/${rows[0].id}/raw`, { headers })
  const text = await raw.text()
  t.match(
    text,
    /^Return-Path: <orjan@y\.com>\r\nReceived: from \S+ \(\[127\.0\.0\.1\]\)\r\n\tby mailbrook\.test with ESMTP\r\n/,
  )
  t.match(text, /\+0000\r\nFrom: =\?UTF-8\?Q\?=C3=96rjan\?= <orjan@y.com>\r\n/)
})

t.test('an address of an unknown domain is refused', async t => {
  const sent = client.sendMail({ from: 'a@y.com', to: 'me@nobody.com', text: 'x' })
  t.match(await sent.catch(error => error), { responseCode: 550 })
})
