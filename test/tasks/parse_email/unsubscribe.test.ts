import { createTransport } from 'nodemailer'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { parse_email } from '#tasks/parse_email.ts'
import { startApi } from '#test/support/api.ts'
import { receive } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { makeRecipient, makeTopic } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const world = await openWorld(t, { SMTP_PORT: '0' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const smtp = await startSmtp(world)
t.teardown(() => smtp.stop())

const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const addContact = async (email: string) => (await api.request('POST', '/api/contacts', { body: { email } })).body
const inbox = async () => (await get('/emails/receiving')).data.map(({ id }) => id)

t.test('mail to the List-Unsubscribe address unsubscribes and is not in the inbox', async t => {
  const { id } = await addContact('ann@b.com')
  const { mailto, email_id } = await makeRecipient(world, account, 'ann@b.com')
  const client = createTransport({ host: '127.0.0.1', port: smtp.port, ignoreTLS: true })
  await client.sendMail({ from: 'other@b.com', to: mailto.toUpperCase(), subject: 'unsubscribe', text: '' })
  client.close()
  const { rows } = await world.pool.pg.query('SELECT account_id, id FROM received_emails WHERE account_id = $1', [
    account.id,
  ])
  t.equal(rows.length, 1)
  await parse_email({ ids: rows }, work)

  shows(t, await get(`/contacts/${id}`), {
    unsubscribed: true,
    consents: [
      { topic_id: null, subscription: 'opt_out', how: 'email', source_id: email_id, client_address: '127.0.0.1' },
    ],
  })
  shows(t, await get(`/emails/${email_id}`), { last_event: 'unsubscribed' })
  t.strictSame(await inbox(), [])
})

t.test('an unsubscribe mail about a topic affects that topic alone', async t => {
  const topic_id = await makeTopic(world, account, { name: 'News' })
  const { id } = await addContact('bob@b.com')
  const { mailto, email_id } = await makeRecipient(world, account, 'bob@b.com', topic_id)
  await world.pool.pg.query('UPDATE emails SET topic_id = $1 WHERE id = $2', [topic_id, email_id])
  await receive(work, account, 'Subject: stop\r\n\r\n', { mail_from: '', received_for: [mailto] })
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false, consents: [{ topic_id, how: 'email' }] })
  t.strictSame(await inbox(), [])
})

t.test('an unsubscribe mail counts even if it cannot be parsed', async t => {
  const { id } = await addContact('cat@b.com')
  const { mailto } = await makeRecipient(world, account, 'cat@b.com')
  await receive(
    work,
    account,
    `Subject: x\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n${'--a\r\n\r\n\r\n'.repeat(2_000)}`,
    { received_for: [mailto] },
  )
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
  t.strictSame(await inbox(), [])
})

t.test('an unsubscribe mail also sent to a person is in the inbox', async t => {
  const { id } = await addContact('dan@b.com')
  const { mailto } = await makeRecipient(world, account, 'dan@b.com')
  const received = await receive(work, account, 'Subject: x\r\n\r\n', {
    received_for: [mailto, `me@${account.domain}`],
  })
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
  t.strictSame(await inbox(), [received])
})

t.test('a forged unsubscribe address, or one at another domain, is refused', async t => {
  const { id } = await addContact('eve@b.com')
  const { mailto } = await makeRecipient(world, account, 'eve@b.com')
  const [local = ''] = mailto.split('@')
  const last = local.at(-4) === 'a' ? 'b' : 'a'
  const forged = `${local.slice(0, -4)}${last}${local.slice(-3)}@${account.domain}`
  for (const to of [forged, `${local}@b.com`]) {
    const client = createTransport({ host: '127.0.0.1', port: smtp.port, ignoreTLS: true })
    await t.rejects(client.sendMail({ from: 'eve@b.com', to, subject: newId() }), /550/)
    client.close()
    await receive(work, account, 'Subject: x\r\n\r\n', { received_for: [to] })
  }
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false })
})
