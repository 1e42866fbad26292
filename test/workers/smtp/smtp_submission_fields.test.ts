import t from 'tap'
import { v7 as uuid } from 'uuid'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { startApi } from '#test/support/api.ts'
import { receive } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { acceptedId, listenForSubmission, logIn, submissionSettings } from '#test/support/smtp/submission.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, await submissionSettings(t))
const account = await newAccount(world)
const second = await newDomain(account.id)
const api = await startApi(t, world, account.key)
const port = await listenForSubmission(t, world)
const inbox = await startInbox(t)
const work = openWork(t, world, inbox.url)
const client = await logIn(t, account.key, port)
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values).then(result => result.rows)
const from = `ann@${account.domain}`

async function newDomain(account_id: string) {
  const domain = { account_id, id: uuid(), name: `${uuid().slice(-12)}.com`, status: 'verified' as const }
  await addDomain(world.pool, world.secrets, domain)
  return domain
}

const messageOf = (fields: string[]) =>
  Buffer.from(
    [...fields, ...(fields.some(field => /^From:/.test(field)) ? [] : [`From: ${from}`]), '', 'Hello'].join('\r\n'),
  )
const submit = (fields: string[], to = 'b@y.com') =>
  client.send(to, messageOf(['To: b@y.com', 'Subject: x', ...fields]))

/** The header fields of a submitted message as they arrive, unfolded. */
async function arrivedFields(fields: string[]): Promise<{ id: string; lines: string[] }> {
  const id = acceptedId(await submit(fields))
  const before = inbox.messages.length
  await send_emails({ email_ids: [id] }, work)
  const messages = await inbox.waitFor(before + 1)
  const [head = ''] = (messages.at(-1)?.raw.toString() ?? '').split('\r\n\r\n')
  return { id, lines: head.replaceAll('\r\n ', ' ').split('\r\n') }
}

/** A date as programs in the timezone +0200 write it. */
const dateIn = (hours: number) =>
  new Date(Date.now() + hours * 3_600_000 + 7_200_000).toUTCString().replace('GMT', '+0200')

t.test('Message-ID, Date and Sender of a submitted message are kept', async t => {
  const message_id = `CAF=x.Y+${uuid()}@mail.gmail.com`
  const date = dateIn(-20)
  const { id, lines } = await arrivedFields([
    `Message-ID:\r\n <${message_id}>`,
    `Date: ${date} (CEST)`,
    `Sender: "Bot, Inc." <bot@${second.name}>`,
  ])
  const own = lines.filter(line => /^(?:Message-ID|Date|Sender|From):/.test(line))
  t.same(own.sort(), [
    `Date: ${date}`,
    `From: ${from}`,
    `Message-ID: <${message_id}>`,
    `Sender: "Bot, Inc." <bot@${second.name}>`,
  ])
  const { body } = await api.request('GET', `/api/emails/${id}`)
  t.match(body, { message_id: `<${message_id}>`, headers: { Date: date, Sender: `"Bot, Inc." <bot@${second.name}>` } })
})

t.test('a submitted message is not tracked, even if its domain tracks', async t => {
  const flags = (is_on: boolean) =>
    query('UPDATE domains SET open_tracking = $2, click_tracking = $2 WHERE id = $1', [account.domain_id, is_on])
  await flags(true)
  const html = '<a href="https://shop.com">Shop</a>'
  const raw = `From: ${from}\r\nTo: b@y.com\r\nSubject: x\r\nContent-Type: text/html\r\n\r\n${html}\r\n`
  const id = acceptedId(await client.send('b@y.com', Buffer.from(raw)))
  await flags(false)
  const find = 'SELECT rtrim(html, chr(10)) AS html, tracking, renderer FROM email_contents WHERE email_id = $1'
  t.strictSame(await query(find, [id]), [{ html, tracking: null, renderer: null }])
})

t.test('a message attached to a submitted message stays message/rfc822', async t => {
  const inner = 'From: a@b.com\r\nSubject: Inner\r\n\r\nHello'
  const raw = `From: ${from}\r\nTo: b@y.com\r\nSubject: x\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\n\r\nSee below\r\n--q\r\nContent-Type: message/rfc822\r\n\r\n${inner}\r\n--q--\r\n`
  const id = acceptedId(await client.send('b@y.com', Buffer.from(raw)))
  const before = inbox.messages.length
  await send_emails({ email_ids: [id] }, work)
  const sent = (await inbox.waitFor(before + 1)).at(-1)?.raw.toString() ?? ''
  const [, fields, attached] = /(Content-Type: message\/rfc822; [\s\S]*?)\r\n\r\n([\s\S]*?)\r\n--mb-/.exec(sent) ?? []
  t.match(fields, /^Content-Transfer-Encoding: 7bit$/m)
  t.match(fields, /filename="Inner\.eml"/)
  t.equal(attached?.trimEnd(), inner)
})

t.test('an attached text of a submitted message keeps its charset', async t => {
  const charsets = ['iso-8859-1', '"ISO_8859-1:1987"', 'a/b']
  const parts = charsets.map(
    charset =>
      `Content-Type: text/csv; charset=${charset}; name=n.csv\r\nContent-Transfer-Encoding: 8bit\r\n\r\ncaf\xe9`,
  )
  const lines = [`From: ${from}`, 'To: b@y.com', 'Content-Type: multipart/mixed; boundary=x', '']
  const raw = Buffer.from([...lines, ...parts.map(part => `--x\r\n${part}`), '--x--', ''].join('\r\n'), 'latin1')
  const id = acceptedId(await client.send('b@y.com', raw))
  const before = inbox.messages.length
  await send_emails({ email_ids: [id] }, work)
  const sent = (await inbox.waitFor(before + 1)).at(-1)?.raw.toString() ?? ''
  t.same(sent.match(/text\/csv;.*/g), [
    'text/csv; charset=iso-8859-1; name="n.csv"',
    'text/csv; charset="ISO_8859-1:1987"; name="n.csv"',
    'text/csv; name="n.csv"',
  ])
  t.equal(sent.match(/^Y2Fm6Q==\r$/gm)?.length, 3)
})

t.test('an invalid Message-ID or Date is replaced', async t => {
  const ids = [
    '',
    '<>',
    '<a>',
    'a@y.com',
    '<a b@y.com>',
    '<a@y.com> x',
    '<"a b"@y.com>',
    '<ä@y.com>',
    '<a@y.com>\r\nMessage-ID: <b@y.com>',
  ]
  const dates = ['', 'yesterday', dateIn(-25), dateIn(25), 'Mon, 99 Jan 2026 10:00:00 +0000', '2026-11-22T10:00:00Z']
  for (const field of [...ids.map(id => `Message-ID: ${id}`), `Message-ID: <${'a'.repeat(500)}@y.com>`]) {
    const id = acceptedId(await submit([field]))
    const { body } = await api.request('GET', `/api/emails/${id}`)
    t.match(body, { message_id: `<${id}@${account.domain}>` }, field)
  }
  for (const date of dates) {
    const [row] = await query('SELECT headers FROM email_contents WHERE email_id = $1', [
      acceptedId(await submit([`Date: ${date}`])),
    ])
    t.same(row.headers, {}, date)
  }
})

t.test('a reply to a kept Message-ID is linked within its account', async t => {
  const message_id = `Order.${uuid()}@shop.local`
  const ids: string[] = []
  for (const to of ['b@y.com', 'c@y.com', 'd@y.com'])
    ids.push(acceptedId(await submit([`Message-ID: <${message_id}>`], to)))
  const linked = async (owner: typeof account, author: string, named: string) => {
    const id = await receive(work, owner, `From: ${author}\r\nSubject: Re: x\r\n${named}\r\n\r\nYes`)
    return (await query('SELECT reply_to_email_id FROM received_emails WHERE id = $1', [id]))[0].reply_to_email_id
  }
  const thread = `References: <${message_id}> <1@z.com>\r\n\t<2@z.com>\r\nIn-Reply-To: <2@z.com>`
  t.equal(await linked(account, 'C <C@y.com>', `In-Reply-To: <${message_id.toUpperCase()}>`), ids[1])
  t.equal(await linked(account, 'b@y.com', thread), ids[0])
  t.equal(await linked(account, 'else@y.com', thread), ids[2], 'the newest')
  t.equal(await linked(account, 'b@y.com', 'In-Reply-To: <other@shop.local>'), null)
  t.equal(await linked(await newAccount(world), 'b@y.com', thread), null, 'another account')
  const events = await query("SELECT type FROM email_events WHERE email_id = $1 AND type = 'replied'", [ids[1]])
  t.equal(events.length, 1)
})

t.test('Message-IDs are listed only if kept, and as long as their emails', async t => {
  const countOf = async (id: string) => (await query('SELECT FROM kept_message_ids WHERE email_id = $1', [id])).length
  const raw = [`Message-ID: <${uuid()}@y.com>`]
  const kept = acceptedId(await submit(raw))
  t.equal(acceptedId(await submit(raw)), kept, 'accepted once')
  t.equal(await countOf(kept), 1)
  t.equal(await countOf(acceptedId(await submit([]))), 0)
  const draft = { from, to: ['b@y.com'], subject: 'x' }
  const sent = (await api.request('POST', '/api/emails', { body: draft })).body.id as string
  t.equal(await countOf(sent), 0)
  await query('DELETE FROM emails WHERE id = $1', [kept])
  t.equal(await countOf(kept), 0)
})

t.test('a Sender whose domain may not send is refused', async t => {
  const foreign = await newAccount(world)
  for (const sender of [`x@${foreign.domain}`, 'x@z.com']) {
    const reply = await submit([`Sender: ${sender}`])
    t.match(reply, /^554 5\.6\.0 validation_error: The Sender field names \S+, which this API key may not send from\./)
  }
  t.match(await submit(['Sender: a..b@y.com']), /^554 5\.6\.0 validation_error: `sender` must /)
  t.match(await submit(['Sender: a@y.com', 'Sender: b@y.com']), /^554 5\.6\.0 invalid_from_address: .*several Sender/)
  const limits = { account_id: account.id, name: 'one', permission: 'sending_access' as const, expires_at: null }
  const key = await createApiKey(world.pool, world.secrets, { ...limits, domain_id: account.domain_id })
  const limited = await logIn(t, key, port)
  const own = (sender: string) => messageOf(['To: b@y.com', `Sender: ${sender}`])
  t.match(await limited.send('b@y.com', own(`bot@${second.name}`)), /^554 5\.6\.0 validation_error: The Sender field /)
  t.match(await limited.send('b@y.com', own(`bot@${account.domain}`)), /^250 /)
})

t.test('a Sender equal to the author is omitted', async t => {
  for (const sender of [`Ann <${from.toUpperCase()}>`, '', 'nobody']) {
    const { lines } = await arrivedFields([`Sender: ${sender}`])
    t.notOk(
      lines.some(line => /^Sender:/.test(line)),
      sender,
    )
  }
})

t.test('a message with two authors is refused', async t => {
  const several = /^554 5\.6\.0 invalid_from_address: From names 2 authors/
  t.match(await submit([`From: ${from}, Bob <bob@${second.name}>`]), several)
  t.match(await submit([`From: team: ${from}, bob@${account.domain};`]), several)
  t.match(await submit([`From: ${from}`, 'From: bob@z.com']), /^554 5\.6\.0 invalid_from_address: /)
  t.match(await submit([`From: ${from}, Ann <${from.toUpperCase()}>`]), /^250 /)
})

t.test('an image that the HTML refers to is inline, whatever its disposition', async t => {
  const image = (id: string, ...fields: string[]) =>
    ['--b', 'Content-Type: image/png', `Content-ID: <${id}>`, ...fields, '', id].join('\r\n')
  const html = '<img src="cid:none@x"><img src=\'CID:as%2Ffile@x\'><img src="cid:100%@x">'
  const parts = [
    `--b\r\nContent-Type: text/html\r\n\r\n${html}`,
    image('none@x'),
    image('as/file@x', 'Content-Disposition: attachment; filename="logo 1.png"'),
    image('100%@x'),
    image('other@x', 'Content-Disposition: attachment; filename=other.png'),
  ]
  const body = `From: ${from}\r\nTo: b@y.com\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n${parts.join('\r\n')}\r\n--b--`
  const id = acceptedId(await client.send('b@y.com', Buffer.from(body)))
  const listed = (await api.request('GET', `/api/emails/${id}/attachments`)).body.data
  t.same(
    listed.map((file: Record<string, unknown>) => [file.content_id, file.content_disposition]),
    [
      ['none@x', 'inline'],
      ['as/file@x', 'inline'],
      ['100%@x', 'inline'],
      ['other@x', 'attachment'],
    ],
  )
})
