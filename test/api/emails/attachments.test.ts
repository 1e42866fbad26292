import { createHash, randomBytes } from 'node:crypto'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { Agent, request } from 'undici'
import { findCapturedMessage } from '#sql/delivery/captured_messages.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { startApi } from '#test/support/api.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const { pg } = world.pool

const MB = 1024 * 1024
const base64 = (content: Buffer | string) => Buffer.from(content).toString('base64')

const send = (attachments: unknown, fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  api.request('POST', '/api/emails', {
    body: { from: `ann@${account.domain}`, to: 'bob@b.com', subject: 'Hi', attachments, ...fields },
    headers,
  })

async function countBlobs(): Promise<number> {
  return (await pg.query('SELECT count(*)::int AS count FROM blobs')).rows[0].count
}

t.test('an attached message arrives as message/rfc822', async t => {
  const inbox = await startInbox(t)
  const sending = openWork(t, world, inbox.url)
  const eml = 'From: a@b.com\r\nSubject: Inner\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n.\r\nGrüße\r\n'
  const plain = eml.replace('Grüße', 'Gruss')
  for (const [n, content] of [plain, eml].entries()) {
    const file = { filename: 'mail.eml', content: base64(content), content_type: 'message/rfc822' }
    const { body } = await send([file])
    await send_emails({ email_ids: [body.id] }, sending)
    const received = await inbox.waitFor(n + 1)
    const { attachments } = await simpleParser(received[n]?.raw as Buffer)
    t.same(
      attachments.map(({ contentType, filename }) => [contentType, filename]),
      [['message/rfc822', 'mail.eml']],
    )
    const attached = attachments[0]?.content as Buffer
    if (content === plain) t.equal(attached.toString(), plain)
    const { subject, text } = await simpleParser(attached)
    t.same([subject, text?.trimEnd()], ['Inner', content === plain ? '.\nGruss' : '.\nGrüße'])
  }
})

t.test('attachments are listed, downloaded and sent unchanged', async t => {
  const logo = randomBytes(1_000)
  const { status, body } = await send(
    [
      { filename: 'résumé.txt', content: base64('a résumé') },
      { filename: 'logo.png', content: base64(logo), content_id: 'logo' },
      { filename: 'data', content: base64('{}'), content_type: 'application/json', content_disposition: 'attachment' },
      { filename: 'empty.bin', content: '' },
    ],
    { html: '<img src="cid:logo">' },
  )
  t.match({ status, body }, { status: 200, body: { id: /./ } })

  const path = `/api/emails/${body.id}/attachments`
  const list = await api.request('GET', path)
  shows(t, list.body, {
    object: 'list',
    has_more: false,
    data: [
      {
        object: 'attachment',
        filename: 'résumé.txt',
        content_type: 'text/plain',
        content_disposition: 'attachment',
        content_id: null,
        size: 10,
      },
      {
        filename: 'logo.png',
        content_type: 'image/png',
        content_disposition: 'inline',
        content_id: 'logo',
        size: 1_000,
      },
      { filename: 'data', content_type: 'application/json', content_disposition: 'attachment', size: 2 },
      { filename: 'empty.bin', size: 0 },
    ],
  })
  t.equal(
    (await api.request('GET', `${path}?limit=1&after=x&limit=0`)).text,
    list.text,
    'all of them, whatever is asked',
  )
  t.strictSame(Object.keys(list.body.data[0] ?? {}).sort(), [
    ...['content_disposition', 'content_id', 'content_type', 'download_url', 'filename', 'id', 'object', 'size'],
  ])
  const email = await api.request('GET', `/api/emails/${body.id}`)
  shows(t, email.body, { attachments: [{ filename: 'résumé.txt', size: 10 }, { content_id: 'logo' }, {}, {}] })

  const [, second] = list.body.data as unknown as { id: string; download_url: string }[]
  t.equal(second?.download_url, `http://localhost:3000${path}/${second?.id}/content`)
  t.strictSame((await api.request('GET', `${path}/${second?.id}`)).body, second)
  const content = await fetch(`${api.url}${path}/${second?.id}/content`, {
    headers: { authorization: `Bearer ${account.key}`, 'user-agent': 'test' },
  })
  t.ok(Buffer.from(await content.arrayBuffer()).equals(logo))
  t.match(Object.fromEntries(content.headers), {
    'content-type': 'image/png',
    'content-length': '1000',
    'content-disposition': 'attachment; filename="logo.png"',
    'x-content-type-options': 'nosniff',
    'content-security-policy': /sandbox/,
    'cache-control': /private/,
  })

  await deliverEmails(work, [body.id])
  const captured = await findCapturedMessage(world.pool, body.id)
  const { attachments } = await simpleParser(captured?.message as Buffer, { skipImageLinks: true })
  t.strictSame(
    attachments.map(({ filename, content }) => [filename, content.toString('hex')]),
    [
      ['logo.png', logo.toString('hex')],
      ['résumé.txt', Buffer.from('a résumé').toString('hex')],
      ['data', Buffer.from('{}').toString('hex')],
      ['empty.bin', ''],
    ],
  )
})

t.test('an unreadable attachment is a 500; one that breaks off aborts the response', async t => {
  const { body } = await send([{ filename: 'x.bin', content: base64(randomBytes(2 * MB)) }])
  const list = await api.request('GET', `/api/emails/${body.id}/attachments`)
  const path = `/api/emails/${body.id}/attachments/${list.body.data[0]?.id}/content`
  const ofFile = 'WHERE id = (SELECT blob_id FROM attachments WHERE email_id = $1)'
  await pg.query(`UPDATE blobs SET store = 's3' ${ofFile}`, [body.id])
  t.match(await api.request('GET', path), { status: 500, body: { name: 'internal_server_error' } })
  await pg.query(`UPDATE blobs SET store = 'postgres' ${ofFile}`, [body.id])
  await pg.query(`DELETE FROM blob_chunks WHERE position > 3 AND blob_id = (SELECT id FROM blobs ${ofFile})`, [body.id])
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
  await t.rejects(fetch(api.url + path, { headers }).then(answer => answer.arrayBuffer()))
})

t.test('an attachment without content and path, or with both, is invalid_attachment', async t => {
  for (const wrong of [{}, { content: base64('x'), path: 'https://acme.com/x' }, { content: null, path: null }]) {
    const { status, body } = await send([{ filename: 'x', ...wrong }])
    t.match({ status, body }, { status: 422, body: { statusCode: 422, name: 'invalid_attachment' } })
  }
})

t.test('an invalid attachment is refused with its position and field', async t => {
  const content = base64('x')
  const cases: [Record<string, unknown>, string, RegExp][] = [
    [{ content, filename: 5 }, 'validation_error', /^`attachments\[0\]\.filename` /],
    [{ filename: 'x', content: 'not base64!' }, 'validation_error', /^`attachments\[0\]\.content` .*base64/],
    [{ filename: 'x', content: `data:image/png;base64,${content}` }, 'validation_error', /data:/],
    [{ filename: 'x', content: 5 }, 'validation_error', /base64/],
    [{ filename: 'x', content: { sha256: 'x', size: 1 } }, 'validation_error', /base64/],
    [{ filename: 'x\r\nBcc: eve@e.com', content }, 'validation_error', /filename.*line break/],
    [{ filename: '../x', content }, 'validation_error', /filename.*path/],
    [{ filename: 'x', content, content_type: 'text/html\r\nX: y' }, 'validation_error', /content_type/],
    [{ filename: 'x', content, content_id: '<x' }, 'validation_error', /content_id/],
    [{ filename: 'x', content, content_disposition: 'hidden' }, 'validation_error', /content_disposition/],
    [{ filename: 'x', path: 'file:///etc/passwd' }, 'validation_error', /^`attachments\[0\]\.path` must /],
    [{ filename: 'x', path: 'http://127.0.0.1/x' }, 'validation_error', /^`attachments\[0\]\.path` must /],
    [{ filename: 'x', path: 'http://user:pass@acme.com/x' }, 'validation_error', /^`attachments\[0\]\.path` must /],
    [{ filename: 'x', path: 'not a url' }, 'validation_error', /^`attachments\[0\]\.path` must /],
  ]
  for (const [wrong, name, message] of cases) {
    t.match(await send([wrong]), { status: 422, body: { name, message } }, JSON.stringify(wrong))
  }
  for (const wrong of [{}, 'x', [1], [null], Array(101).fill({ filename: 'x', content })]) {
    t.match(await send(wrong), { status: 422 }, JSON.stringify(wrong).slice(0, 50))
  }
  for (const none of [[], null]) t.match(await send(none), { status: 200 })
})

t.test('an attachment has at most 25 MB, all together 40 MB', async t => {
  const file = (size: number) => ({ filename: 'x', content: base64(Buffer.alloc(size)) })
  t.match(await send([file(25 * MB), file(15 * MB)]), { status: 200 })
  for (const [files, message] of [
    [[file(25 * MB + 1)], /must have at most 26,214,400 bytes\.$/],
    [[file(25 * MB), file(15 * MB + 1)], /^`attachments` must have at most 41,943,040 bytes together\.$/],
  ] as const) {
    t.match(await send(files), { status: 422, body: { name: 'validation_error', message } })
  }
})

for (const size of [700_000, 3 * MB]) {
  t.test(`equal files of ${size} bytes are stored once, and a retry replays`, async t => {
    const file = randomBytes(size)
    const before = await countBlobs()
    const attachments = [
      { filename: 'one.bin', content: base64(file) },
      { filename: 'two.bin', content: base64(file) },
    ]
    const headers = { 'idempotency-key': `files of ${size}` }
    const first = await send(attachments, {}, headers)
    t.equal(first.status, 200)
    t.equal(await countBlobs(), before + 1)
    t.match(await send(attachments, {}, headers), { status: 200, body: { id: first.body.id } })
    t.match(await send([attachments[0]], {}, headers), { status: 409 })
    const { rows } = await pg.query('SELECT sha256, size FROM blobs ORDER BY id DESC LIMIT 1')
    shows(t, rows, [{ size }])
    t.ok(rows[0].sha256.equals(createHash('sha256').update(file).digest()))
  })
}

t.test('a body padded with spaces to a large one is the same payload', async t => {
  const body = {
    from: `ann@${account.domain}`,
    to: 'b@b.com',
    subject: 'Hi',
    attachments: [{ filename: 'x', content: base64('xyz') }],
  }
  const headers = { 'idempotency-key': 'spaces' }
  const small = await api.request('POST', '/api/emails', { raw: JSON.stringify(body), headers })
  const large = await api.request('POST', '/api/emails', { raw: JSON.stringify(body) + ' '.repeat(MB), headers })
  t.match(large, { status: 200, text: small.text })
  t.equal(large.headers.get('idempotent-replayed'), 'true')
})

t.test('attachments of a batch are stored with their emails', async t => {
  const item = (name: string, content: string) => ({
    ...{ from: `ann@${account.domain}`, to: 'b@b.com', subject: 'Hi' },
    attachments: [{ filename: name, content }],
  })
  const raw = JSON.stringify([item('a', base64('a')), item('b', base64(randomBytes(2 * MB))), item('c', '!')])
  const headers = { 'x-batch-validation': 'permissive' }
  const { status, body } = await api.request('POST', '/api/emails/batch', { raw, headers })
  shows(
    t,
    { status, body },
    {
      status: 200,
      body: { data: [{ id: String }, { id: String }], errors: [{ index: 2, message: /emails\[2\].attachments/ }] },
    },
  )
  shows(t, await api.request('GET', `/api/emails/${body.data[1]?.id}/attachments`), {
    body: { data: [{ filename: 'b', size: 2 * MB }] },
  })
})

t.test('a large body with invalid JSON or large html is refused', async t => {
  const request = (raw: string) => api.request('POST', '/api/emails', { raw })
  t.match(await request(`{"attachments":[{"content":"${'A'.repeat(2 * MB)}"}`), {
    status: 422,
    body: { name: 'validation_error', message: /not valid JSON/ },
  })
  t.match(await request(`{"html":"${'x'.repeat(11 * MB)}"}`), { status: 422, body: { message: /larger than/ } })
  t.match(await request('['.repeat(2 * MB)), { status: 422 })
})

for (const table of ['blobs', 'blob_chunks']) {
  t.test(`a large file that cannot be stored (${table}) fails only its request`, async t => {
    const agent = new Agent({ connections: 1, headersTimeout: 5_000 })
    t.teardown(() => agent.destroy())
    const post = async () => {
      const attachments = [{ filename: 'a.bin', content: base64(randomBytes(3 * MB)) }]
      const email = { from: `ann@${account.domain}`, to: 'bob@b.com', subject: 'Hi', attachments }
      const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
      const options = { method: 'POST', headers, body: JSON.stringify(email), dispatcher: agent } as const
      const { statusCode, body } = await request(`${api.url}/api/emails`, options)
      await body.dump()
      return statusCode
    }
    await pg.query(`ALTER TABLE ${table} ADD CONSTRAINT none CHECK (false) NOT VALID`)
    t.equal(await post(), 500)
    await pg.query(`ALTER TABLE ${table} DROP CONSTRAINT none`)
    t.equal(await post(), 200)
  })
}

t.test('blobs without an email are deleted after a day', async t => {
  await work.blobs.put(account.id, Buffer.from('nobody wants this'))
  await work.blobs.purge()
  const before = await countBlobs()
  await pg.query(`UPDATE blobs SET used_at = now() - interval '25 hours'`)
  t.ok((await work.blobs.purge()) >= 1)
  const { rows } = await pg.query(
    `SELECT (SELECT count(*)::int FROM blobs) AS blobs, (SELECT count(DISTINCT blob_id)::int FROM attachments) AS attached,
      (SELECT count(DISTINCT blob_id)::int FROM blob_chunks) AS written, (SELECT count(data)::int FROM blobs) AS short`,
  )
  t.ok(rows[0].blobs < before)
  t.equal(rows[0].blobs, rows[0].attached)
  t.equal(rows[0].blobs, rows[0].written + rows[0].short)
})
