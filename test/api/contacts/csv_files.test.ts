import { parse } from 'csv-parse/sync'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const other = await newAccount(world)
const api = await startApi(t, world, account.key)
const { importer } = openWork(t, world)

const post = (path: string, body: object, key = account.key) => api.request('POST', `/api${path}`, { body, key })
const download = async (path: string, key = account.key) => {
  const headers = { authorization: `Bearer ${key}`, 'user-agent': 'test' }
  const response = await fetch(`${api.url}/api${path}`, { headers })
  return { type: response.headers.get('content-type'), text: await response.text() }
}

t.test('GET /contacts/export writes a CSV that an import restores exactly', async t => {
  await post('/contact-properties', { key: 'note', type: 'string', fallback_value: 'none' })
  await post('/contact-properties', { key: 'seats', type: 'number' })
  const contacts = [
    {
      email: '=1+1@b.com',
      first_name: '@SUM(A1)',
      timezone: 'Asia/Tokyo',
      properties: { note: 'two\r\n"lines", and more', seats: -5 },
    },
    { email: 'plain@b.com', first_name: "'=a", last_name: 'O\u2019Neil', unsubscribed: true, do_not_track: true },
  ]
  await post('/contacts/batch', { contacts })
  const { type, text } = await download(`/contacts/export?domain=${account.domain}`)
  t.equal(type, 'text/csv; charset=utf-8')
  const created = /[^,]+Z/.exec(text)?.[0]
  t.equal(
    text.replaceAll(/[^,]+Z/g, 'T'),
    'email,first_name,last_name,unsubscribed,do_not_track,timezone,created_at,note,seats\r\n' +
      `'=1+1@b.com,'@SUM(A1),,false,false,Asia/Tokyo,T,"two\r\n""lines"", and more",-5\r\n` +
      "plain@b.com,''=a,O\u2019Neil,true,true,,T,,\r\n",
  )
  t.ok(created)

  for (const property of [
    { key: 'note', type: 'string' },
    { key: 'seats', type: 'number' },
  ])
    await post('/contact-properties', property, other.key)
  const ended = await new Imports(api, other.key, importer).ofText(text)
  shows(t, ended, { counts: { created: 2 }, ignored_columns: ['created_at'] })
  for (const { email } of contacts) {
    const get = async (key: string, domain: string) => {
      const { body } = await api.request('GET', `/api/contacts/${encodeURIComponent(email)}?domain=${domain}`, { key })
      const { first_name, last_name, unsubscribed, do_not_track, timezone, properties } = Object(body)
      const fields = { first_name, last_name, unsubscribed, do_not_track, timezone }
      return { ...fields, properties: { note: 'none', ...properties } }
    }
    t.strictSame(await get(other.key, other.domain), await get(account.key, account.domain))
  }
})

t.test('an import restores an export with 100 properties', async t => {
  const [from, to] = [await newAccount(world), await newAccount(world)]
  const keys = Array.from({ length: 100 }, (_, n) => `p${n}`)
  await Promise.all(keys.map(key => post('/contact-properties', { key, type: 'string' }, from.key)))
  const properties = Object.fromEntries(keys.map(key => [key, `of ${key}`]))
  await post('/contacts/batch', { contacts: [{ email: 'ann@b.com', properties }] }, from.key)
  const { text } = await download(`/contacts/export?domain=${from.domain}`, from.key)
  const ended = await new Imports(api, to.key, importer).ofText(text)
  shows(t, ended, { status: 'completed', counts: { created: 1 } })
  const { body } = await api.request('GET', `/api/contacts/ann@b.com?domain=${to.domain}`, { key: to.key })
  shows(t, body, { properties })
})

t.test('GET /contacts/export has the choices about topics, which an import into another account restores', async t => {
  const [from, to] = [await newAccount(world), await newAccount(world)]
  const names = ['News, "weekly"', '=Offers', 'Private']
  const ids: Record<string, string[]> = {}
  for (const { key, domain_id } of [from, to]) {
    ids[key] = []
    for (const name of names) {
      const visibility = name === 'Private' ? 'private' : 'public'
      const topic = { name, default_subscription: 'opt_in', visibility, ...(visibility === 'private' && { domain_id }) }
      ids[key].push((await post('/topics', topic, key)).body.id as string)
    }
  }
  const choose = (email: string, ...choices: (string | null)[]) => {
    const topics = choices.flatMap((subscription, n) =>
      subscription ? [{ id: ids[from.key]?.[n], subscription }] : [],
    )
    return post('/contacts', { email, domain: from.domain, topics }, from.key)
  }
  await choose('ann@b.com', 'opt_out', 'opt_in', null)
  await choose('bob@b.com', null, null, 'opt_out')
  await choose('carl@b.com', null, null, null)
  const read = async ({ key, domain }: typeof from) => {
    const headers = { authorization: `Bearer ${key}`, 'user-agent': 'test' }
    const text = await (await fetch(`${api.url}/api/contacts/export?domain=${domain}`, { headers })).text()
    return text.replaceAll(/[^,]+Z/g, 'T')
  }
  const text = await read(from)
  t.equal(
    text,
    'email,first_name,last_name,unsubscribed,do_not_track,timezone,created_at,"topic:News, ""weekly""",topic:=Offers,topic:Private\r\n' +
      'ann@b.com,,,false,false,,T,opt_out,opt_in,\r\n' +
      'bob@b.com,,,false,false,,T,,,opt_out\r\n' +
      'carl@b.com,,,false,false,,T,,,\r\n',
  )
  const ended = await new Imports(api, to.key, importer).ofText(text)
  shows(t, ended, { counts: { created: 3, failed: 0 }, ignored_columns: ['created_at'] })
  t.strictSame((await read(to)).split('\r\n').toSorted(), text.split('\r\n').toSorted())
})

t.test(
  'GET /contacts/export escapes full-width formulas and those after blanks, and an import restores them',
  async t => {
    const [from, to] = [await newAccount(world), await newAccount(world)]
    for (const { key } of [from, to]) await post('/contact-properties', { key: 'note', type: 'string' }, key)
    const signs = ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20']
    const blanks = ['', ' ', '\u00a0', '\u200b', '\u2028', '\v', '\f', '\n', "'", " '", '\u200b \ufeff']
    const notes = blanks
      .flatMap(blank => signs.map(sign => `${blank}${sign}1+1 `))
      .concat('\nx', '\r=1', "'\tx", "'plain")
    const contacts = notes.map((note, n) => ({ email: `n${n}@b.com`, properties: { note } }))
    shows(t, await post('/contacts/batch', { contacts }, from.key), { body: { created: notes.length } })
    const read = async ({ key, domain }: typeof from) => {
      const headers = { authorization: `Bearer ${key}`, 'user-agent': 'test' }
      const response = await fetch(`${api.url}/api/contacts/export?domain=${domain}`, { headers })
      return response.text()
    }
    const text = await read(from)
    t.strictSame(
      parse(text, { from: 2 }).map((cells: string[]) => cells[7]),
      notes.map(note => (note === "'plain" ? note : `'${note}`)),
    )
    shows(t, await new Imports(api, to.key, importer).ofText(text), { counts: { created: notes.length, failed: 0 } })
    const withoutTime = (csv: string) =>
      csv
        .replaceAll(/[^,]+Z/g, 'T')
        .split('\r\n')
        .toSorted()
    t.strictSame(withoutTime(await read(to)), withoutTime(text))
  },
)

t.test('GET /contacts/export writes the longest values so that an import restores them', async t => {
  const to = await newAccount(world)
  const note = `=${'x'.repeat(1_999)}`
  await post('/contacts', { email: 'long@b.com', domain: account.domain, properties: { note } })
  await post('/contact-properties', { key: 'note', type: 'string' }, to.key)
  const { text } = await download(`/contacts/export?domain=${account.domain}`)
  shows(t, await new Imports(api, to.key, importer).ofText(text), { counts: { failed: 0 } })
  const { body } = await api.request('GET', '/api/contacts/long@b.com', { key: to.key })
  shows(t, body, { properties: { note } })
})

t.test('POST /suppressions/import adds valid addresses, and the export lists them', async t => {
  const played = `bounced@${world.config.SIMULATOR_DOMAIN}`
  const csv = `Email Address;Reason;Expires_At\nann@b.com;bounce;\nwrong;;\nBob@b.com;;2199-01-01T00:00:00Z\nann@b.com;;\n${played};;\n`
  const { status, body } = await post('/suppressions/import', { csv })
  t.equal(status, 200)
  shows(t, body, {
    object: 'suppression_import',
    ...{ total: 5, created: 2, updated: 1, failed: 2 },
    errors: [
      { line: 3, email: 'wrong', message: '`email` must be an address such as ann@acme.com.' },
      { line: 6, email: played, message: 'The simulator is never suppressed.' },
    ],
  })
  const { text } = await download('/suppressions/export')
  t.strictSame(
    text
      .split('\r\n')
      .map(line => line.replace(/[^,]+Z$/, 'T'))
      .sort(),
    [
      '',
      'ann@b.com,bounce,,,T',
      'bob@b.com,import,,2199-01-01T00:00:00.000Z,T',
      'email,reason,cause,expires_at,created_at',
    ],
  )
  shows(t, await post('/suppressions/import', { csv: 'a,b\n' }), { status: 422 })
  const message = 'The header must have the column "Email" only once.'
  shows(t, await post('/suppressions/import', { csv: 'Email,email\n' }), { status: 422, body: { message } })
})

t.test('properties named like members of Object are exported correctly', async t => {
  const stranger = await newAccount(world)
  const keys = ['constructor', 'toString', 'hasOwnProperty', 'valueOf']
  for (const key of keys) await post('/contact-properties', { key, type: 'string' }, stranger.key)
  await post('/contacts', { email: 'ann@b.com' }, stranger.key)
  await post('/contacts', { email: 'bob@b.com', properties: { constructor: 'me' } }, stranger.key)
  const headers = { authorization: `Bearer ${stranger.key}`, 'user-agent': 'test' }
  const response = await fetch(`${api.url}/api/contacts/export?domain=${stranger.domain}`, { headers })
  const [header = [], ann, bob] = (await response.text()).split('\r\n').map(line => line.split(',').slice(7))
  t.strictSame([header.toSorted(), ann], [keys.toSorted(), ['', '', '', '']])
  t.strictSame(
    bob,
    header.map(key => (key === 'constructor' ? 'me' : '')),
  )
})

t.test('POST /suppressions/import lists the first 1,000 invalid records', async t => {
  const { body } = await post('/suppressions/import', { csv: `email\n${'x\n'.repeat(2_500)}` })
  shows(t, body, { total: 2_500, failed: 2_500, errors: { length: 1_000 } })
})
