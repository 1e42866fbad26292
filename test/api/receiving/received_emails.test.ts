import { readFile } from 'node:fs/promises'
import { Resend } from 'resend'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { startApi } from '#test/support/api.ts'
import { naughtyStrings } from '#test/support/naughty_strings.ts'
import { compose, receive, store } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { query } from '#test/support/varied_emails.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const me = `me@${account.domain}`
const path = '/api/emails/receiving'

async function idsOf(filters: Record<string, string>) {
  const { status, body } = await api.request('GET', `${path}?${query(filters)}`)
  t.equal(status, 200, JSON.stringify(filters))
  return body.data.map(email => email.id)
}

t.test('a received email has every field of its record, and omits absent ones', async t => {
  const bare = await receive(work, account, 'From: ann@y.com\r\nTo: me@acme.com\r\n\r\n')
  const { body } = await api.request('GET', `${path}/${bare}?html_format=cid`)
  const { headers, text, spf, verdicts, ...record } = body as typeof body & Record<string, unknown>
  t.match({ spf, verdicts }, { spf: 'temperror', verdicts: { dkim: 'GRAY', spam: 'DISABLED', virus: 'DISABLED' } })
  t.strictSame(record, {
    object: 'received_email',
    id: bare,
    domain_id: account.domain_id,
    mail_from: 'x@y.com',
    to: ['me@acme.com'],
    from: 'ann@y.com',
    from_name: null,
    subject: '',
    received_for: [me],
    category: null,
    reply_to_email_id: null,
    read: false,
    read_at: null,
    raw_available: true,
    raw: { download_url: `${world.config.BASE_URL}${path}/${bare}/raw` },
    raw_url: `${path}/${bare}/raw`,
    created_at: (record as { created_at?: string }).created_at,
  })
  t.match(headers, { from: 'ann@y.com' })

  const raw = await compose({
    from: 'Änn <ann@y.com>',
    cc: 'c@y.com',
    replyTo: 'r@y.com',
    subject: 'S',
    html: '<b>Hi</b>',
  })
  const full = await receive(work, account, raw)
  shows(t, (await api.request('GET', `${path}/${full}`)).body, {
    from_name: 'Änn',
    cc: ['c@y.com'],
    reply_to: ['r@y.com'],
    subject: 'S',
    html: /<b>Hi<\/b>/,
    message_id: /^<.+>$/,
  })
  const { body: list } = await api.request('GET', `${path}?limit=1`)
  shows(t, list, { object: 'list', has_more: true, data: [{ object: 'received_email', id: full, subject: 'S' }] })
  for (const field of ['html', 'text', 'headers']) t.notHas(list.data[0], field)
})

t.test('a header name without an address is not a recipient; absent headers are omitted', async t => {
  const read = async (raw: string) =>
    (await api.request('GET', `${path}/${await receive(work, account, raw)}`)).body as unknown as Record<
      string,
      unknown
    >
  const named = await read('From: ann@y.com\r\nTo: undisclosed recipients, b@y.com\r\nCc: <>\r\nReply-To: Bob\r\n\r\n')
  t.strictSame(named.to, ['b@y.com'])
  for (const field of ['cc', 'reply_to']) t.notHas(named, field)
  const bare = await read('\r\nHello')
  shows(t, bare, { to: [], from: '', text: /^Hello/ })
  for (const field of ['headers', 'message_id']) t.notHas(bare, field)
})

t.test('an email that is not parsed yet is listed nowhere and is 404', async t => {
  const before = await idsOf({})
  const id = await store(work, account, 'From: ann@y.com\r\n\r\nHi', { mail_from: '', received_for: [me] })
  t.strictSame(await idsOf({}), before)
  t.strictSame(await idsOf({ to: me }), before)
  const unknown = uuid()
  for (const [method, tail] of [
    ['GET', ''],
    ['GET', '/raw'],
    ['GET', '/attachments'],
    ['PATCH', ''],
    ['DELETE', ''],
  ] as const) {
    const answer = await api.request(method, `${path}/${id}${tail}`)
    t.match(answer, { status: 404, body: { name: 'not_found' } }, `${method} ${tail}`)
    t.equal(answer.text, (await api.request(method, `${path}/${unknown}${tail}`)).text)
  }
})

t.test('an email for two domains of an account is one, listed for both', async t => {
  const other = await newAccount(world)
  const second = { account_id: other.id, id: uuid(), name: `${uuid().slice(-12)}.com`, status: 'verified' as const }
  await addDomain(world.pool, world.secrets, second)
  const domains = [other.domain, second.name]
  const mail = async (received_for: string[], header = '') =>
    receive(work, other, `From: ann@y.com\r\nSubject: invoice\r\n${header}\r\nx`, { received_for })
  const one = await mail([`me@${other.domain}`], `To: <@${second.name}>, x@${second.name}\r\n`)
  const both = await mail(domains.map(domain => `Me@${domain.toUpperCase()}`))
  const list = async (filters: Record<string, string>) =>
    (await api.request('GET', `${path}?${query(filters)}`, { key: other.key })).body.data.map(({ id }) => id)
  t.same(await list({}), [both, one])
  for (const domain of [other.domain, other.domain_id]) t.same(await list({ domain }), [both, one])
  for (const domain of [second.name, second.id]) t.same(await list({ domain }), [both])
  t.same(await list({ domain: second.name, to: `me@${other.domain}`, q: 'invoice', read: 'false' }), [both])
  t.same(await list({ domain: second.name, to: 'nobody@y.com' }), [])
  t.same(await list({ domain: second.name, after: both }), [])
  t.same(await list({ domain: other.domain, limit: '1', after: both }), [one])
  t.same(await list({ domain: other.domain, limit: '1', before: one }), [both])

  // As rows were before domains were indexed.
  await world.pool.pg.query("DELETE FROM received_recipients WHERE address LIKE '@%'")
  t.same(await list({ domain: second.name }), [])
  const migration = new URL('../../../sql/migrations/0025_received_domains.sql', import.meta.url)
  await world.pool.pg.query(await readFile(migration, 'utf8'))
  t.same(await list({ domain: second.name }), [both])
  const added = "SELECT received_email_id, address FROM received_recipients WHERE account_id = $1 AND address LIKE '@%'"
  const { rows } = await world.pool.pg.query(added, [other.id])
  t.same(rows, [{ received_email_id: both, address: `@${second.name}` }])
})

t.test('GET /emails/receiving filters emails, newest first, in pages', async t => {
  const other = await newAccount(world)
  const mail = (fields: object) =>
    compose({ subject: 'Invoice 7', text: 'x', ...fields }).then(raw => receive(work, other, raw))
  const list = async (filters: Record<string, string>) => {
    const { status, body } = await api.request('GET', `${path}?${query(filters)}`, { key: other.key })
    t.equal(status, 200, JSON.stringify(filters))
    return body.data.map(({ id }) => ids.indexOf(id))
  }
  const ids = [
    await mail({ from: 'Ann <Ann@Y.com>' }),
    await mail({ from: 'bob@y.com', cc: 'Carl <carl@y.com>' }),
    await mail({ from: 'ann@y.com', subject: '100% ÜBER_cool\\ déjà' }),
    await mail({ from: 'bob@y.com', to: `me@${other.domain}` }),
  ]
  await world.pool.pg.query(`UPDATE received_emails SET category = 'interested' WHERE id = $1`, [ids[1]])
  await api.request('PATCH', `${path}/${ids[2]}`, { key: other.key })

  for (const [filters, expected] of [
    [{ from: 'ann@y.com' }, [2, 0]],
    [{ from: 'ANN@y.com', read: 'false' }, [0]],
    [{ to: 'CARL@y.com' }, [1]],
    [{ to: `ME@${other.domain}` }, [3, 2, 1, 0]],
    [{ to: 'me@acme.com' }, [2, 1, 0]],
    [{ to: 'me@acme.com', from: 'bob@y.com' }, [1]],
    [{ to: 'me@acme.com', q: 'invoice' }, [1, 0]],
    [{ read: 'true' }, [2]],
    [{ read: 'false' }, [3, 1, 0]],
    [{ category: 'interested' }, [1]],
    [{ category: 'none' }, [3, 2, 0]],
    [{ category: 'neutral' }, []],
    [{ domain: other.domain.toUpperCase() }, [3, 2, 1, 0]],
    [{ domain: other.domain_id, q: 'über_cool\\' }, [2]],
    [{ domain: account.domain }, []],
    [{ domain: account.domain_id }, []],
    [{ campaign_id: uuid() }, []],
    [{ q: '' }, [3, 2, 1, 0]],
    [{ q: 'DÉJÀ' }, [2]],
    [{ q: '%' }, [2]],
    [{ q: 'invoice_7' }, []],
    [{ q: 'bob@' }, [3, 1]],
    [{ q: 'Carl@Y' }, [1]],
    [{ q: 'invoice', limit: '1', after: ids[3] as string }, [1]],
    [{ q: 'invoice', limit: '1', before: ids[0] as string }, [1]],
    [{ to: `me@${other.domain}`, limit: '2', after: ids[3] as string }, [2, 1]],
    [{ to: `me@${other.domain}`, limit: '2', before: ids[0] as string }, [2, 1]],
    [{ from: 'bob@y.com', after: ids[3] as string }, [1]],
  ] as const) {
    t.strictSame(await list(filters), expected, JSON.stringify(filters))
  }
  t.match(await api.request('GET', `${path}?read=false&limit=2`, { key: other.key }), { body: { has_more: true } })
})

t.test('very long or many addresses do not prevent receiving an email', async t => {
  const long = `${'x'.repeat(5_000)}@y.com`
  const many = Array.from({ length: 1_500 }, (_, n) => `<${n}@many.com>`).join(',\r\n ')
  const id = await receive(work, account, `From: <${long}>\r\nTo: <${long}>,\r\n ${many}\r\n\r\nHi`)
  t.match((await api.request('GET', `${path}/${id}`)).body, { from: /^x{320}/, text: 'Hi' })
  t.strictSame(await idsOf({ to: '7@many.com' }), [id])
  t.strictSame(await idsOf({ to: me, limit: '1' }), [id])
})

t.test('naughty strings find exactly the received emails that contain them', async t => {
  const other = await newAccount(world)
  const isLine = (text: string) => text.length <= 998 && !/[\0\r\n]/.test(text)
  const fold = (text: string) => text.toLowerCase().replaceAll('ς', 'σ')
  const lines = naughtyStrings.filter(isLine)
  const subjects = Array.from({ length: Math.ceil(lines.length / 20) }, (_, i) =>
    lines.slice(i * 20, i * 20 + 20).join(' '),
  )
  const ids = subjects.map(() => uuid())
  await world.pool.pg.query(
    `INSERT INTO received_emails (account_id, id, state, mail_from, received_for, client, sha256, size, subject)
     SELECT $1, id, 'parsed', '', '{}', '{}', '', 0, subject FROM unnest($2::uuid[], $3::text[]) AS e(id, subject)`,
    [other.id, ids, subjects],
  )
  const everything = ids.map((id, i) => [id, fold(subjects[i] as string)] as const).toReversed()
  for (const q of naughtyStrings) {
    const { status, body } = await api.request('GET', `${path}?${query({ q })}`, { key: other.key })
    const found = everything.filter(([, subject]) => subject.includes(fold(q))).map(([id]) => id)
    const answer = status === 200 ? body.data.map(({ id }) => id) : status
    t.strictSame(answer, isLine(q) ? found : 422, encodeURIComponent(q))
  }
})

t.test('invalid filters are refused by name', async t => {
  const wrong = {
    read: ['', 'yes', 'TRUE', '1'],
    category: ['', 'null', 'Interested', 'toString'],
    domain: ['', 'x', '%'],
    from: ['', 'x', 'a@b.com,c@d.com'],
    to: ['', '\0@y.com'],
    q: ['a\0', 'a\nb', 'x'.repeat(999)],
    campaign_id: ['', 'x'],
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const text of [...values.map(value => query({ [name]: value })), `${name}=${me}&${name}=${me}`]) {
      const { body } = await api.request('GET', `${path}?${text}`)
      t.match(body, { statusCode: 422, name: 'validation_error', message: new RegExp(`\`${name}\``) }, text)
    }
  }
})

t.test('PATCH /emails/receiving/:id marks an email read once, never unread', async t => {
  const id = await receive(work, account, 'From: ann@y.com\r\n\r\nHi')
  for (const body of [{ read: false }, { read: null }, { read: 'true' }, [], null]) {
    t.match(await api.request('PATCH', `${path}/${id}`, { body }), { status: 422 }, JSON.stringify(body))
  }
  t.match((await api.request('GET', `${path}/${id}`)).body, { read: false, read_at: null })
  const first = await api.request('PATCH', `${path}/${id}`, { body: { read: true } })
  const { read_at } = first.body as typeof first.body & { read_at: string }
  t.match(first.status, 200)
  t.match(read_at, /^\d{4}-.*Z$/)
  t.strictSame(first.body, { object: 'received_email', id, read: true, read_at })
  for (const options of [{}, { body: {} }, { body: { read: true, x: 1 } }]) {
    t.strictSame((await api.request('PATCH', `${path}/${id}`, options)).body, first.body)
  }
  t.match((await api.request('GET', `${path}/${id}`)).body, { read: true, read_at })
})

t.test('the resend package reads received emails', async t => {
  const { emails } = new Resend(account.key, { baseUrl: `${api.url}/api` })
  const raw = await compose({ subject: 'Hi', text: 'x', attachments: [{ filename: 'a.txt', content: 'x' }] })
  const id = await receive(work, account, raw)
  shows(t, await emails.receiving.list({ limit: 1 }), { error: null, data: { has_more: true, data: [{ id }] } })
  const { data, error } = await emails.receiving.get(id, { html_format: 'cid' })
  t.match({ data, error }, { error: null, data: { id, subject: 'Hi', raw: { download_url: /raw$/ } } })
  const files = await emails.receiving.attachments.list({ emailId: id })
  shows(t, files, { error: null, data: { data: [{ filename: 'a.txt', size: 1 }] } })
})

t.test('DELETE /emails/receiving/:id removes an email with its parts', async t => {
  const raw = await compose({ attachments: [{ filename: 'a.txt', content: 'x' }], text: 'x' })
  const id = await receive(work, account, raw)
  t.strictSame((await api.request('DELETE', `${path}/${id}`)).body, { object: 'received_email', id, deleted: true })
  for (const method of ['GET', 'PATCH', 'DELETE']) t.match(await api.request(method, `${path}/${id}`), { status: 404 })
  for (const table of ['contents', 'attachments', 'recipients']) {
    const { rows } = await world.pool.pg.query(`SELECT FROM received_${table} WHERE received_email_id = $1`, [id])
    t.equal(rows.length, 0, table)
  }
})
