import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { IMPORT_MAX_MB: '2' })
const { pg } = world.pool
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const ask = async (path: string) => {
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
  const response = await fetch(`${api.url}/api${path}`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body

t.before(async () => {
  await post('/contact-properties', { key: 'seats', type: 'number' })
  await post('/contact-properties', { key: 'plan', type: 'string' })
})

t.test('POST /contacts/imports stores valid rows and lists the invalid lines', async t => {
  const csv = [
    'Email,First Name,seats,plan,Nickname',
    'ann@b.com,Ann,3,"pro, yearly",An',
    '"bob@b.com","Bob\nSmith",4,"two\r\nlines",',
    'carl@b.com,Carl,many,,',
    '',
    'not an address,X,,,',
    'Ann@B.com,Other,5,,',
    'dan@b.com,Dan,,,,surplus',
    `eve@b.com,${'x'.repeat(2_001)},,,`,
  ].join('\n')
  const started = await post('/contacts/imports', { csv, create_properties: false })
  shows(t, started, {
    status: 201,
    body: {
      object: 'contact_import',
      status: 'queued',
      counts: { total: 0, created: 0, updated: 0, skipped: 0, failed: 0 },
      errors: [],
      completed_at: null,
    },
  })
  const ended = await imports.finish(started.body.id)
  const failed = (row: number, line: number, email: string, message: string) => {
    return { object: 'contact_import_error', id: String(row), row, line, email, outcome: 'failed', message }
  }
  shows(t, ended, {
    status: 'completed',
    counts: { total: 7, created: 1, updated: 0, skipped: 1, failed: 5 },
    records: 7,
    ignored_columns: ['Nickname'],
    error: null,
    errors: [
      failed(2, 3, 'bob@b.com', '`First Name` must be one line.'),
      failed(3, 6, 'carl@b.com', '`seats` must be a number.'),
      failed(4, 8, 'not an address', '`Email` must be an address such as ann@acme.com.'),
      { ...failed(5, 9, 'Ann@B.com', 'The address is on line 2 already.'), outcome: 'skipped' },
      failed(6, 10, 'dan@b.com', 'The record has more cells than the header, which has 5.'),
      failed(7, 11, 'eve@b.com', 'Cell 2 has more than 2,000 characters.'),
    ],
  })
  shows(t, await get('/contacts/ann@b.com'), { first_name: 'Ann', properties: { seats: 3, plan: 'pro, yearly' } })
  const page = await get(`/contacts/imports/${started.body.id}/errors?limit=2&after=3`)
  shows(t, page, { object: 'list', has_more: true, data: [{ row: 4 }, { row: 5 }] })
  const { rows } = await pg.query('SELECT count(*)::int AS n FROM import_rows')
  t.equal(rows[0].n, 0)
})

t.test('a multipart form with a file from Excel is imported', async t => {
  const file = Buffer.from(
    'email;first_name;plan\r\nj\u00f6rg@b.com;J;x\r\njoerg@b.com;J\u00f6rg;\u0080uro\r\n',
    'latin1',
  )
  const ended = await imports.ofFile(file, { on_conflict: 'skip' })
  shows(t, ended, { status: 'completed', counts: { total: 2, created: 1, failed: 1 } })
  shows(t, await get('/contacts/joerg@b.com'), { first_name: 'J\u00f6rg', properties: { plan: '\u20acuro' } })
})

t.test('files of other encodings, delimiters and line breaks are imported', async t => {
  const rows = (delimiter: string, end: string, domain: string) =>
    ['email', 'first_name', 'plan']
      .join(delimiter)
      .concat(end, [`u1@${domain}`, '\u0141ukasz', `"a${delimiter}""b""${end}c"`].join(delimiter), end)
      .concat([`u2@${domain}`, '', ''].join(delimiter), end, `bad${end}`)
  const files: [string, Buffer, Record<string, string>?][] = [
    ['utf8.com', Buffer.from(rows(',', '\n', 'utf8.com'))],
    ['mark.com', Buffer.from(`\ufeff${rows(';', '\r\n', 'mark.com')}`)],
    ['le.com', Buffer.from(`\ufeff${rows('\t', '\r\n', 'le.com')}`, 'utf16le')],
    ['be.com', Buffer.from(`\ufeff${rows('|', '\r', 'be.com')}`, 'utf16le').swap16()],
    ['named.com', Buffer.from(rows(',', '\n', 'named.com'), 'utf16le'), { encoding: 'utf-16le' }],
  ]
  for (const [domain, file, fields] of files) {
    const { id: _, ...ended } = await imports.ofFile(file, fields)
    shows(
      t,
      ended,
      { status: 'completed', counts: { total: 3, created: 2, failed: 1 }, errors: [{ row: 3, line: 5 }] },
      domain,
    )
    const { properties, ...contact } = (await get(`/contacts/u1@${domain}`)) as unknown as Record<string, never>
    shows(t, contact, { first_name: '\u0141ukasz' })
    t.match(properties, { plan: /^a.?"b"\r?\n?c$/ }, domain)
  }
})

t.test('an import of JSON ignores `encoding`, since its text is decoded already', async t => {
  const ended = await imports.ofText('email,first_name\nu@json.com,\u0141ukasz', { encoding: 'windows-1252' })
  shows(t, ended, { counts: { created: 1 } })
  shows(t, await get('/contacts/u@json.com'), { first_name: '\u0141ukasz' })
})

t.test('a file that cannot be imported is refused at once', async t => {
  const refused = async (csv: string, message: string, more: object = {}) =>
    shows(t, await imports.ofText(csv, more), { statusCode: 422, message })
  await refused('', 'The file is empty.')
  await refused(' \n\n', 'The file is empty.')
  await refused('name,mail\na,b', 'The header must have a column `email`, or `column_map.email` must name one.')
  await refused('email,"name\na@b.co', 'A quote in the first line of the file is not closed.')
  await refused(`email${',x'.repeat(1_000)}`, 'The file has more than 1000 columns.')
  await refused('a,b', '`column_map.email` must be a column of the file.', { column_map: { email: 'c' } })
  const column_map = { email: 'a', properties: { size: { column: 'b' } } }
  const unknown = { column_map, create_properties: false }
  await refused('a,b', '`column_map.properties` has the key "size", which is not a contact property.', unknown)
  shows(t, await imports.ofFile(Buffer.from('email\n\xff', 'latin1'), { encoding: 'utf-8' }), {
    message: 'The file is not valid UTF-8.',
  })
  shows(t, await imports.ofFile(Buffer.alloc(3 << 20, 'a')), { message: 'The file is larger than 2 MB.' })
  shows(t, await imports.ofFile(Buffer.from('email'), { segments: 'no' }), { message: '`segments` must be JSON.' })
  shows(t, await imports.ofText('email', { segments: [account.id] }), { message: 'Segment not found' })
})

t.test('an import can create properties, join groups and map columns', async t => {
  const topic = newId()
  await pg.query(`INSERT INTO topics VALUES ($1, $2, NULL, 'News', NULL, 'opt_in', 'public')`, [account.id, topic])
  const { body: audience } = await post('/audiences', { name: 'Imported' })
  const map = { email: 'Mail', firstName: 'Who', properties: { height: { column: 'Height', type: 'number' } } }
  const fields = {
    ...{ column_map: JSON.stringify(map), create_properties: 'true', trigger_automations: 'false' },
    audience_id: audience.id,
    topics: JSON.stringify([{ id: topic, subscription: 'opt_out' }]),
    segments: JSON.stringify([account.domain_id]),
  }
  const ended = await imports.ofFile(Buffer.from('Who,Mail,Height\nZ,zed@b.com,-1.5e1\n'), fields)
  shows(t, ended, { counts: { created: 1, failed: 0 }, audience_id: audience.id })
  shows(t, await get('/contacts/zed@b.com'), {
    first_name: 'Z',
    properties: { height: -15 },
    audience_ids: [account.domain_id, audience.id],
    consents: [{ topic_id: topic, subscription: 'opt_out', how: 'import', source_id: ended.id }],
  })
  shows(t, await get(`/audiences/${audience.id}`), { contacts_count: 1 })
  const joined = await pg.query('SELECT FROM segment_members WHERE account_id = $1', [account.id])
  t.equal(joined.rowCount, 1)
})

t.test('an import ends opt-outs only with `resubscribe`, and ignores empty cells', async t => {
  await post('/contacts', { email: 'left@b.com', first_name: 'L', unsubscribed: true })
  const csv = 'email,first_name,unsubscribed\nleft@b.com,,false\nnew@b.com,,YES\n'
  shows(t, await imports.ofText(csv), { counts: { created: 1, updated: 1 } })
  shows(t, await get('/contacts/left@b.com'), { first_name: 'L', unsubscribed: true })
  shows(t, await get('/contacts/new@b.com'), { unsubscribed: true, consents: [{ how: 'import' }] })
  shows(t, await imports.ofText(csv, { resubscribe: true, on_conflict: 'skip' }), { counts: { skipped: 2 } })
  shows(t, await imports.ofText(csv, { resubscribe: true }), { counts: { updated: 2 } })
  shows(t, await get('/contacts/left@b.com'), { unsubscribed: false })
})

t.test('import errors are exported as CSV without formulas', async t => {
  const { id } = await imports.ofText('email\n=1+1\n"x, ""y"""\n')
  const { status, headers, text } = await ask(`/contacts/imports/${id}/errors?format=csv`)
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
  const message = '`email` must be an address such as ann@acme.com.'
  t.equal(text, `row,line,email,outcome,message\r\n1,2,'=1+1,failed,${message}\r\n2,3,"x, ""y""",failed,${message}\r\n`)
})

t.test('webhooks get one event per import', async t => {
  await post('/webhooks', { endpoint: 'https://hook.acme.com/', events: ['*'] })
  const { id, errors } = await imports.ofText('email\nhook1@b.com\nhook2@b.com\nhook1@b.com\n')
  t.equal(errors.length, 1)
  const { rows } = await pg.query(
    `SELECT type, convert_from(body, 'UTF8')::json -> 'data' AS data FROM webhook_events WHERE account_id = $1`,
    [account.id],
  )
  shows(t, rows, [
    {
      type: 'contact_import.completed',
      data: { id, status: 'completed', counts: { total: 3, created: 2, skipped: 1 }, errors },
    },
  ])
})

t.test('an account can have at most five unfinished imports', async t => {
  const ids = []
  for (let n = 0; n < 5; n++) ids.push((await post('/contacts/imports', { csv: `email\nq${n}@b.com` })).body.id)
  const sixth = await post('/contacts/import', { csv: 'email' })
  shows(t, sixth, { status: 503, body: { name: 'contacts_busy' } })
  t.ok(Number(sixth.headers.get('retry-after')) > 0)
  for (const id of ids) shows(t, await imports.finish(id), { counts: { created: 1 } })
  shows(t, await get('/contacts/imports?status=queued'), { data: [] })
})

t.test('an unclosed quote ends an import, and the rows before it are stored', async t => {
  const { id: _, ...ended } = await imports.ofText('email,plan\nfirst@b.com,a\nsecond@b.com,"b\nthird@b.com,c\n')
  shows(t, ended, {
    status: 'failed',
    counts: { total: 2, created: 1, failed: 1 },
    error: 'The file cannot be read from line 3 on: a quote in the record is not closed.',
    errors: [{ row: 2, line: 3, message: 'A quote in the record is not closed.' }],
  })
})

t.test('an import ends at its 100,000th invalid record', async t => {
  const csv = `email\nfirst@b.org\n${'x\n'.repeat(100_000)}last@b.org\n`
  const { id: _, errors, ...ended } = await imports.ofText(csv)
  shows(t, ended, {
    status: 'failed',
    counts: { total: 100_001, created: 1, failed: 100_000 },
    records: 100_001,
    error: 'The file was not read any further than line 100002: 100,000 of its records are wrong.',
    errors_cut: false,
  })
  t.equal(errors.length, 100)
  shows(t, await get('/contacts/first@b.org'), { email: 'first@b.org' })
})
