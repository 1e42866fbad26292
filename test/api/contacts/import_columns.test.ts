import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)

const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const keys = async () =>
  Object(await get('/contact-properties?limit=100'))
    .data.map(({ key }: { key: string }) => key)
    .sort()

t.before(() => api.request('POST', '/api/contact-properties', { body: { key: 'plan', type: 'string' } }))

t.test('a column that `column_map` omits is matched by its name', async t => {
  const csv = 'Mail,unsubscribed,First Name,Plan,time,Notes\nann@b.com,true,Ann,pro,Asia/Tokyo,x\n'
  const ended = await imports.ofText(csv, { column_map: { email: 'Mail', timezone: 'Time' }, create_properties: false })
  shows(t, ended, { counts: { created: 1, failed: 0 }, ignored_columns: ['Notes'] })
  shows(t, await get('/contacts/ann@b.com'), {
    unsubscribed: true,
    first_name: 'Ann',
    timezone: 'Asia/Tokyo',
    properties: { plan: 'pro' },
  })
})

t.test('a column is ignored if `column_map` maps its field to another column', async t => {
  const csv = 'email,work email,plan,Tarif,first_name\nhome@b.com,work@b.com,old,new,Ann\n'
  const column_map = { email: 'Work Email', properties: { plan: { column: 'tarif' }, alias: { column: 'first_name' } } }
  const ended = await imports.ofText(csv, { column_map })
  shows(t, ended, { counts: { created: 1, failed: 0 }, ignored_columns: ['email', 'plan'] })
  shows(t, await get('/contacts/work@b.com'), { first_name: null, properties: { plan: 'new', alias: 'Ann' } })
})

t.test(
  'every column whose name has letters or digits becomes a property, unless `create_properties` is false',
  async t => {
    const names = [
      'Mail',
      'Straße',
      'Phone (mobile)',
      'Birthday (MM/DD)',
      '100%',
      'Prénom?',
      'x'.repeat(60),
      'Phone, mobile',
    ]
    const csv = `${names
      .concat('電話', 'created_at', 'Plan')
      .map(name => `"${name}"`)
      .join(';')}\na@b.com;1;2;3;4;5;6;7;8;9;10\n`
    const without = await imports.ofText(csv, { column_map: { email: 'Mail' }, create_properties: false })
    const unknown = names.filter(name => name !== 'Mail').concat('電話', 'created_at')
    shows(t, without, { counts: { created: 1, failed: 0 }, ignored_columns: { length: unknown.length } })
    t.strictSame(await keys(), ['alias', 'plan'])
    const ended = await imports.ofText(csv, { column_map: { email: 'Mail' } })
    shows(t, ended, { counts: { updated: 1, failed: 0 }, ignored_columns: ['電話', 'Phone, mobile', 'created_at'] })
    const made = {
      strasse: '1',
      phone_mobile: '2',
      birthday_mm_dd: '3',
      '100': '4',
      prenom: '5',
      ['x'.repeat(50)]: '6',
    }
    shows(t, await get('/contacts/a@b.com'), { properties: { ...made, plan: '10' } })
    t.strictSame(await keys(), [...Object.keys(made), 'alias', 'plan'].sort())
    const again = await imports.ofText(csv, { column_map: { email: 'Mail' } })
    shows(t, again, { counts: { updated: 1 } })
    t.strictSame(
      await keys(),
      [...Object.keys(made), 'alias', 'plan'].sort(),
      'finds the properties that an earlier import has created',
    )
  },
)

t.test('an invalid property key in `column_map` is refused', async t => {
  const column_map = { properties: { 'Phone (mobile)': { column: 'Phone' } } }
  shows(t, await imports.ofText('email,Phone\n', { column_map }), {
    statusCode: 422,
    message: '`column_map.properties` has the key "Phone (mobile)", which cannot be that of a contact property.',
  })
})

t.test('columns whose names differ only in case fill separate properties', async t => {
  for (const key of ['tier', 'Tier'])
    await api.request('POST', '/api/contact-properties', { body: { key, type: 'string' } })
  const ended = await imports.ofText('email,tier,Tier,TIER\ncase@b.com,low,high,none\n')
  shows(t, ended, { counts: { created: 1 }, ignored_columns: ['TIER'] })
  shows(t, await get('/contacts/case@b.com'), { properties: { tier: 'low', Tier: 'high' } })
  const reserved = await api.request('POST', '/api/contact-properties', { body: { key: 'Email', type: 'string' } })
  shows(t, reserved, { status: 422, body: { message: '`key` is reserved.' } })
})

t.test('a `sep=` line from Excel is not the header', async t => {
  const { ignored_columns: _, ...ended } = Object(
    await imports.ofText('sep=;\r\nemail;first_name\r\nsep@b.com;"A, B"\r\nbad;\r\n'),
  )
  shows(t, ended, { counts: { created: 1, failed: 1 }, errors: [{ row: 2, line: 4 }] })
  shows(t, await get('/contacts/sep@b.com'), { first_name: 'A, B' })
})

t.test('a header with two columns of addresses is refused', async t => {
  const once = (name: string) => ({ statusCode: 422, message: `The header must have the column "${name}" only once.` })
  shows(t, await imports.ofText('email,email\na@b.com,b@b.com\n'), once('email'))
  shows(t, await imports.ofText('Email,plan,EMAIL\na@b.com,x,b@b.com\n'), once('Email'))
  shows(t, await imports.ofText('Mail,mail\na@b.com,b@b.com\n', { column_map: { email: 'mail' } }), once('Mail'))
  const others = 'email,email,Work\na@b.com,b@b.com,twice@b.com\n'
  const ended = await imports.ofText(others, { column_map: { email: 'Work' }, create_properties: false })
  shows(t, ended, { counts: { created: 1 }, ignored_columns: ['email', 'email'] })
  const names = await imports.ofText('email,first_name,plan,First Name,Plan\nmore@b.com,A,p,B,q\n')
  shows(t, names, { counts: { created: 1 }, ignored_columns: ['First Name', 'Plan'] })
  shows(t, await get('/contacts/more@b.com'), { first_name: 'A', properties: { plan: 'p' } })
})

t.test('a `column_map` that maps one column to two fields is refused', async t => {
  const csv = 'email,Name\na@b.com,Ann\n'
  const refused = async (column_map: object, message: string) =>
    shows(t, await imports.ofText(csv, { column_map }), { statusCode: 422, message })
  await refused(
    { first_name: 'Name', last_name: 'name' },
    '`column_map.last_name` must not be the same column as `column_map.first_name`.',
  )
  await refused(
    { first_name: 'Name', properties: { plan: { column: 'Name' } } },
    '`column_map.properties.plan` must not be the same column as `column_map.first_name`.',
  )
})

t.test('`column_map` fills the property that it names, even if another one has the name of the column', async t => {
  for (const key of ['company', 'employer'])
    await api.request('POST', '/api/contact-properties', { body: { key, type: 'string' } })
  const column_map = { properties: { employer: { column: 'company' } } }
  shows(t, await imports.ofText('email,company\nmapped@b.com,Acme\n', { column_map }), { counts: { created: 1 } })
  shows(t, await get('/contacts/mapped@b.com'), { properties: { employer: 'Acme', company: undefined } })
})

t.test('an import that is refused adds no properties', async t => {
  const column_map = { properties: { fresh: { column: 'A' }, plan: { column: 'B', type: 'number' } } }
  shows(t, await imports.ofText('email,A,B\nx@b.com,1,2\n', { column_map }), { statusCode: 422 })
  const queue = (csv: string) => api.request('POST', '/api/contacts/imports', { body: { csv } })
  const queued = []
  for (let n = 0; n < 5; n++) queued.push((await queue('email\nx@b.com\n')).body.id)
  t.equal((await queue('email,Fresh\nx@b.com,1\n')).status, 503)
  t.notOk((await keys()).includes('fresh'))
  for (const id of queued) await imports.finish(String(id))
})

t.test('a header with an unclosed quote after a literal one is refused', async t => {
  shows(t, await imports.ofText('email,a",",b\nx@b.com,1,2,3\n'), {
    statusCode: 422,
    message: 'A quote in the first line of the file is not closed.',
  })
})

t.test('a header with a NUL character is refused', async t => {
  const file = Buffer.from('email,na\0me\nx@b.com,1\n')
  const message = 'The first line of the file has a NUL character.'
  shows(t, await imports.ofFile(file, { domain: account.domain }), { statusCode: 422, message })
})
