import { randomBytes } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Mailbrook, MailbrookError } from '#client/source/index.ts'
import { FIRST_WAIT_MS, poll } from '#client/source/poll.ts'
import { startApi } from '#test/support/api.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const client = new Mailbrook({ apiKey: account.key, baseUrl: `${api.url}/api/` })
const work = openWork(t, world, 'capture')
const from = `Acme <a@${account.domain}>`

t.test('an email with a file is sent, waited for and read', async t => {
  const bytes = new Uint8Array(randomBytes(100_000))
  const { id } = await client.emails.send({
    ...{ from, to: ['b@b.com'], subject: 'Grüße 🦄', html: '<p>Hello</p>' },
    attachments: [
      { filename: 'a.bin', content: bytes },
      { filename: 'b.txt', content: Buffer.from('Buffer') },
    ],
  })
  const waiting = client.emails.waitFor(id)
  await work.sender.offer([id])
  await work.sender.idle()
  shows(t, await waiting, { id, status: 'delivered', subject: 'Grüße 🦄' })
  const { data } = await client.emails.attachments(id)
  const [first, second] = data.map(({ id }) => id) as [string, string]
  t.strictSame(await (await client.emails.download(id, first)).bytes(), bytes)
  t.equal(await (await client.emails.download(id, second)).text(), 'Buffer')
})

t.test('waitFor throws wait_timeout', async t => {
  const scheduled_at = new Date(Date.now() + 3_600_000)
  const { id } = await client.emails.send({ from, to: 'b@b.com', subject: 'Later', text: 'x', scheduled_at })
  shows(t, await client.emails.get(id), { scheduled_at: scheduled_at.toISOString() })
  const error = await client.emails.waitFor(id, { within: 1_800_000 }).catch(error => error)
  t.ok(MailbrookError.is(error, 'wait_timeout'), 'at once for an email that is scheduled for later')
  t.equal(error.message, `The email is scheduled for ${scheduled_at.toISOString()}: the wait ends before.`)
  shows(t, await client.emails.cancel(id), { id })
  const queued = await client.emails.send({ from, to: 'b@b.com', subject: 'Queued', text: 'x' })
  await t.rejects(client.emails.waitFor(queued.id, { within: 300 }), { name: 'wait_timeout' })
})

t.test('a wait that is shorter than the first pause reads once more at its end', async t => {
  let reads = 0
  const read = async () => ++reads
  // On a busy machine the first read alone may take as long as the wait.
  for (let tries = 0; tries < 10 && reads < 2; tries++) {
    reads = 0
    await t.rejects(
      poll(read, () => false, { within: FIRST_WAIT_MS - 1 }),
      { name: 'wait_timeout' },
    )
  }
  t.ok(reads >= 2, `${reads} reads: a timer may end a moment early`)
})

t.test('a permissive batch sends the valid emails', async t => {
  const valid = { from, to: 'b@b.com', subject: 'x', text: 'x' }
  const { data, errors } = await client.emails.batch([valid, { ...valid, to: 'nobody' }], { validation: 'permissive' })
  t.equal(data.length, 1)
  shows(t, errors, [{ index: 1 }])
  const refused = await client.emails.batch([valid, { ...valid, to: 'nobody' }]).catch(error => error)
  t.ok(MailbrookError.is(refused, 'invalid_to_address'))
  shows(t, refused.toJSON(), { statusCode: 422, name: 'invalid_to_address' })
})

t.test('lists are read page by page in both directions', async t => {
  const emails = Array.from({ length: 7 }, (_, n) => ({ email: `p${n}@pages.com` }))
  await client.contacts.batch({ domain: account.domain, contacts: emails })
  const all = (await client.contacts.list({ domain: account.domain, limit: 2 }).all()).map(({ email }) => email)
  t.strictSame(
    all.toSorted(),
    emails.map(({ email }) => email),
  )
  const page = await client.contacts.list({ domain: account.domain, limit: 2 })
  shows(t, { ...page, data: page.data.length }, { object: 'list', has_more: true, data: 2 })
  t.strictSame(
    (await client.contacts.list({ domain: account.domain, limit: 2 }).all({ max: 3 })).map(({ email }) => email),
    all.slice(0, 3),
  )
  t.strictSame(await client.contacts.list({ domain: account.domain }).all({ max: 0 }), [])
  const last = (await client.contacts.list({ domain: account.domain }).all()).at(-1)
  const back: string[] = []
  for await (const { email } of client.contacts.list({ domain: account.domain, limit: 2, before: last?.id as string }))
    back.push(email)
  t.strictSame(back, all.slice(0, -1).reverse())
})

t.test('a loop that deletes the items of a list reaches all of them', async t => {
  const { domain } = account
  const listed = async () => (await client.contacts.list({ domain }).all()).length
  const emails = Array.from({ length: 5 }, (_, n) => ({ email: `d${n}@pages.com` }))
  for (const position of ['after', 'before'] as const) {
    await client.contacts.batch({ domain, contacts: emails })
    const all = await client.contacts.list({ domain }).all()
    const start = position === 'before' ? { before: all.at(-1)?.id as string } : {}
    for await (const { id } of client.contacts.list({ domain, limit: 2, ...start })) await client.contacts.delete(id)
    t.equal(await listed(), position === 'before' ? 1 : 0, position)
  }
})

t.test('contacts are imported from a file', async t => {
  const path = join(t.testdir(), 'contacts.csv')
  await writeFile(path, 'Mail,first_name\nanna@import.com,Änna\nnobody,x\n')
  const file = await openAsBlob(path)
  const { id } = await client.contacts.imports.create({
    file,
    column_map: { email: 'Mail', first_name: 'first_name' },
    domain: account.domain,
  })
  await work.importer.offer([id])
  await work.importer.idle()
  shows(t, await client.contacts.imports.get(id), { status: 'completed', counts: { total: 2, created: 1, failed: 1 } })
  shows(t, await client.contacts.imports.errors(id).all(), [{ row: 2 }])
  shows(t, await client.contacts.get('anna@import.com', { domain: account.domain }), { first_name: 'Änna' })
  const csv = await (await client.contacts.export({ domain: account.domain })).text()
  t.ok(csv.includes('anna@import.com'))
})

t.test('the raw message of a received email is a stream', async t => {
  const message = await compose({ text: 'x', subject: 'Raw' })
  await receive(work, account, message)
  const [received] = await client.received.list().all()
  const raw = await client.received.raw(received?.id as string)
  t.ok((await raw.text()).includes('Subject: Raw'))
  const same = await client.request<Response>('GET', `/emails/receiving/${received?.id}/raw`)
  t.ok((await same.text()).includes('Subject: Raw'))
})

t.test('client.request calls an operation without a method', async t => {
  for (const path of ['/usage', 'usage', '/api/usage']) {
    shows(t, await client.request('GET', path), { object: 'usage' }, path)
  }
  await t.rejects(client.request('GET', '/emails?limit=1', { query: { status: 'unknown' } }), { message: /^`status`/ })
  const error = await client.request('get', '/emails', { body: { limit: 1 } }).catch(error => error.toJSON())
  shows(t, error, {
    ...{ statusCode: null, name: 'client_error' },
    message: 'A GET request has no body: put the values into the query.',
  })
})

t.test('invalid arguments throw before anything is sent', async t => {
  for (const id of ['', undefined as unknown as string, 7 as unknown as string, '.', '..']) {
    t.throws(() => client.contacts.delete(id), { statusCode: null, name: 'client_error' })
  }
  shows(t, await client.contacts.get('a/../b?x@b.com', { domain: account.domain }).catch(error => error.toJSON()), {
    statusCode: 404,
  })
  t.throws(() => new Mailbrook({ apiKey: '', baseUrl: api.url }), { statusCode: null, name: 'client_error' })
  for (const baseUrl of ['mail', 'localhost:3000', 'http://']) {
    t.throws(() => new Mailbrook({ apiKey: 'x', baseUrl }), { statusCode: null, name: 'client_error' })
  }
})

t.test('values that JSON cannot have throw a client_error, and the email is not sent at once', async t => {
  const email = { from, to: 'b@b.com', subject: 'x', text: 'x' }
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const sent = (more: object) => client.emails.send({ ...email, ...more })
  const before = (await client.emails.list().all()).length
  for (const [call, message] of [
    [sent({ scheduled_at: new Date('31.12.2026') }), '`scheduled_at` is an invalid date, which JSON cannot have.'],
    [sent({ scheduled_at: { toJSON: () => null } }), '`scheduled_at` is an invalid date, which JSON cannot have.'],
    [sent({ variables: { price: Number.NaN } }), '`price` is NaN, which JSON cannot have.'],
    [client.emails.list({ created_after: new Date('x') }).page(), '`created_after` is an invalid date.'],
    [sent({ variables: circular }), /^The body cannot be written as JSON: Converting circular structure/],
    [sent({ variables: { n: 1n } }), /^The body cannot be written as JSON: .*BigInt/],
  ] as const) {
    const error = await (call as Promise<unknown>).catch((error: unknown) => error)
    t.ok(MailbrookError.is(error, 'client_error'), `${message}`)
    t.match((error as Error).message, message)
  }
  t.equal((await client.emails.list().all()).length, before)
  const { id } = await sent({ scheduled_at: null, variables: { n: 0 } })
  t.ok(id, 'null itself is sent')
})

t.test('values that a header cannot have throw a client_error without them', async t => {
  const email = { from, to: 'b@b.com', subject: 'x', text: 'x' }
  const broken = new Mailbrook({ apiKey: 'mb_\u2026', baseUrl: api.url })
  for (const [call, name] of [
    [client.emails.send(email, { idempotencyKey: 'заказ-17' }), 'idempotency-key'],
    [client.emails.send(email, { headers: { 'x-a': 'a\nb' } }), 'x-a'],
    [broken.usage.get(), 'authorization'],
  ] as const) {
    const error = await (call as Promise<unknown>).catch((error: unknown) => error)
    t.ok(MailbrookError.is(error, 'client_error'), name)
    t.equal((error as Error).message, `The header \`${name}\` has characters that a header cannot have.`)
  }
})

t.test('a wrong API key throws the error of the API', async t => {
  const stranger = new Mailbrook({ apiKey: 'mb_x', baseUrl: api.url })
  const error = await stranger.emails
    .list()
    .page()
    .catch(error => error)
  shows(t, error.toJSON(), { statusCode: 403, name: 'invalid_api_key' })
  t.ok(error instanceof Error)
  t.ok(MailbrookError.is(error))
  t.notOk(MailbrookError.is(error, 'not_found'))
  t.equal(error.headers.get('content-type'), 'application/json; charset=utf-8')
})
