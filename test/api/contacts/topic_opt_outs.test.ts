import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)

const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body
const choiceOf = async (email: string) =>
  Object((await api.request('GET', `/api/contacts/${email}/topics`)).body).data[0].choice

t.test('batches and imports leave an opt-out from a topic, unless they have `resubscribe`', async t => {
  const { id } = await post('/topics', { name: 'News', default_subscription: 'opt_in' })
  const optOut = [{ id, subscription: 'opt_out' }]
  const topics = [{ id, subscription: 'opt_in' }]
  await post('/contacts', { email: 'out@b.com', topics: optOut })
  await post('/contacts', { email: 'old@b.com' })
  const contacts = [{ email: 'out@b.com' }, { email: 'old@b.com' }]
  const csv = 'email\nout@b.com\nold@b.com\n'
  const choices = async () => [await choiceOf('out@b.com'), await choiceOf('old@b.com')]

  await post('/contacts/batch', { contacts, topics, on_conflict: 'skip' })
  shows(t, await imports.ofText(csv, { topics, on_conflict: 'skip' }), { counts: { skipped: 2 } })
  t.strictSame(await choices(), ['opt_out', null], 'skipped contacts stay as they are')
  await post('/contacts/batch', { contacts, topics })
  t.strictSame(await choices(), ['opt_out', 'opt_in'])
  shows(t, await imports.ofText(csv, { topics }), { counts: { updated: 2 } })
  t.strictSame(await choices(), ['opt_out', 'opt_in'])

  await api.request('DELETE', '/api/contacts/out@b.com')
  await post('/contacts/batch', { contacts, topics })
  t.strictSame(await choices(), ['opt_out', 'opt_in'], 'also if it was deleted since')
  await imports.ofText(csv, { topics: optOut })
  t.strictSame(await choices(), ['opt_out', 'opt_out'])
  await post('/contacts/batch', { contacts, topics, resubscribe: true })
  t.strictSame(await choices(), ['opt_in', 'opt_in'])
  await imports.ofText(csv, { topics: optOut })
  await imports.ofText(csv, { topics, resubscribe: true })
  t.strictSame(await choices(), ['opt_in', 'opt_in'])
})

t.test('a contact that is deleted and created again has its opt-outs from topics, and no opt-ins', async t => {
  const account = await newAccount(world)
  const ask = async (method: string, path: string, body?: object) =>
    (await api.request(method, `/api${path}`, { body, key: account.key })).body
  const { id: news } = await ask('POST', '/topics', { name: 'News', default_subscription: 'opt_in' })
  const { id: offers } = await ask('POST', '/topics', { name: 'Offers', default_subscription: 'opt_in' })
  const email = 'both@b.com'
  const topics = [
    { id: news, subscription: 'opt_in' },
    { id: offers, subscription: 'opt_out' },
  ]
  await ask('POST', '/contacts', { email, topics })
  await ask('DELETE', `/contacts/${email}`)
  await ask('POST', '/contacts', { email })
  const { data } = Object(await ask('GET', `/contacts/${email}/topics`))
  const choices = new Map(data.map(({ id, choice }: { id: string; choice: string }) => [id, choice]))
  t.strictSame([choices.get(news), choices.get(offers)], [null, 'opt_out'])
})

t.test('columns of topics in a file set choices, and an opt-out is never lost', async t => {
  const account = await newAccount(world)
  const imports = new Imports(api, account.key, openWork(t, world).importer)
  const ask = async (path: string, body?: object) =>
    (await api.request(body ? 'POST' : 'GET', `/api${path}`, { body, key: account.key })).body
  const { id: news } = await ask('/topics', { name: 'News, weekly', default_subscription: 'opt_in' })
  const { id: offers } = await ask('/topics', { name: 'Offers', default_subscription: 'opt_out' })
  const choicesOf = async (email: string) => {
    const { data } = Object(await ask(`/contacts/${email}/topics?limit=10`))
    const byId = new Map(data.map(({ id, choice }: { id: string; choice: string }) => [id, choice]))
    return [byId.get(news), byId.get(offers)]
  }
  const csv = [
    'email,"TOPIC: news, weekly",Deals,topic:Offers',
    'ann@b.com,opt_out,OPT_IN,',
    'bob@b.com,,opt_out,',
    'bad@b.com,yes,,',
    'twice@b.com,opt_in,opt_in,',
    ...Array.from({ length: 700 }, (_, n) => `x${n}@b.com,,,`),
    'twice@b.com,,opt_out,',
    'twice@b.com,opt_out,opt_in,',
  ].join('\n')
  const column_map = { topics: { [offers]: { column: 'deals' } } }
  shows(t, await imports.ofText(csv, { column_map, create_properties: false }), {
    counts: { created: 703, skipped: 2, failed: 1 },
    errors: [
      { row: 3, message: '`TOPIC: news, weekly` must be opt_in or opt_out.' },
      { outcome: 'skipped' },
      { outcome: 'skipped' },
    ],
    ignored_columns: ['topic:Offers'],
  })
  t.strictSame(await choicesOf('ann@b.com'), ['opt_out', 'opt_in'])
  t.strictSame(await choicesOf('bob@b.com'), [null, 'opt_out'])
  t.strictSame(await choicesOf('twice@b.com'), ['opt_out', 'opt_out'])
  shows(t, await ask('/contacts/bob@b.com'), {
    consents: [{ topic_id: offers, subscription: 'opt_out', how: 'import' }],
  })

  const back = 'email,topic:offers\nann@b.com,opt_out\nbob@b.com,opt_in\nnew@b.com,opt_in\n'
  await imports.ofText(back, { on_conflict: 'skip' })
  t.strictSame(
    [await choicesOf('ann@b.com'), await choicesOf('new@b.com')],
    [
      ['opt_out', 'opt_in'],
      [null, 'opt_in'],
    ],
  )
  await imports.ofText(back, { topics: [{ id: offers, subscription: 'opt_in' }] })
  t.strictSame(
    [await choicesOf('ann@b.com'), await choicesOf('bob@b.com')],
    [
      ['opt_out', 'opt_out'],
      [null, 'opt_out'],
    ],
  )
  await imports.ofText(back, { resubscribe: true })
  t.strictSame(await choicesOf('bob@b.com'), [null, 'opt_in'])
})

t.test('a file whose column names no topic of the domain is refused', async t => {
  const refused = async (csv: string, column_map: object, error: object) =>
    shows(t, await imports.ofText(csv, { column_map }), error)
  const message =
    'The file has the column "topic:Old", but the domain has no topic of this name. Create it, or remove the column.'
  await refused('email,topic:Old,Fresh\na@b.com,,1\n', {}, { statusCode: 422, message })
  await refused('email,Old\na@b.com,\n', { topics: { [newId()]: { column: 'Old' } } }, { statusCode: 404 })
  await refused(
    'email\na@b.com\n',
    { topics: { x: { column: 'Old' } } },
    {
      statusCode: 422,
      message: '`column_map.topics.x.column` must be a column of the file.',
    },
  )
  const properties = { old: { column: 'topic:Old' } }
  shows(t, await imports.ofText('email,topic:Old\nprop@b.com,1\n', { column_map: { properties } }), {
    counts: { created: 1 },
  })
  shows(t, (await api.request('GET', '/api/contacts/prop@b.com')).body, { properties: { old: '1' } })
})
