import t from 'tap'
import { operations } from '#api/routes/index.ts'
import { type Answer, startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const json = (path: string) => (key: string, body: object) =>
  api.request('POST', `/api${path}`, { body, headers: { 'idempotency-key': key } })

/** Sends a form with a file, like browsers and curl. */
async function upload(key: string, { csv, ...fields }: { csv?: string }): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  form.set('file', new Blob([csv ?? ''], { type: 'text/csv' }), 'contacts.csv')
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test', 'idempotency-key': key }
  const response = await fetch(`${api.url}/api/contacts/imports`, { method: 'POST', headers, body: form })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

const idOf = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body.id
const trigger = { trigger: 'signed.up', domain: account.domain }

/** The name of a thing, the table that stores it, the function that creates it, and two different bodies. */
const creations: [string, string, (key: string, body: object) => Promise<Answer>, object, object][] = [
  ['an event definition', 'event_definitions', json('/events'), { name: 'one' }, { name: 'two' }],
  ['an import', 'contact_imports', json('/contacts/imports'), { csv: 'email\na@b.com\n' }, { csv: 'email\nb@b.com\n' }],
  ['an import of a form', 'contact_imports', upload, { csv: 'email\na@b.com\n' }, { csv: 'email\nb@b.com\n' }],
  [
    'an import of an audience',
    'contact_imports',
    json(`/audiences/${await idOf('/audiences', { name: 'A' })}/contacts/import`),
    { csv: 'email\na@b.com\n' },
    { csv: 'email\nb@b.com\n' },
  ],
  ['an automation', 'automations', json('/automations'), { ...trigger, name: 'A' }, { ...trigger, name: 'B' }],
  [
    'a copy of an automation',
    'automations',
    json(`/automations/${await idOf('/automations', { ...trigger, name: 'A' })}/duplicate`),
    ...([{ name: 'A' }, { name: 'B' }] as const),
  ],
  [
    'a copy of a campaign',
    'campaigns',
    json(`/campaigns/${await idOf('/campaigns', { from: `a@${account.domain}`, subject: 'S' })}/duplicate`),
    ...([{ name: 'A' }, { name: 'B' }] as const),
  ],
  ['a template', 'templates', json('/templates'), { name: 'A', html: 'Hi' }, { name: 'B', html: 'Hi' }],
  [
    'a copy of a template',
    'templates',
    json(`/templates/${await idOf('/templates', { name: 'A', html: 'Hi' })}/duplicate`),
    ...([{ name: 'A' }, { name: 'B' }] as const),
  ],
]

for (const [what, table, create, given, another] of creations) {
  t.test(`${what} is created once per Idempotency-Key`, async t => {
    const count = async () => {
      const counts = [table, 'audit_log'].map(async from => {
        const query = `SELECT count(*)::int FROM ${from} WHERE account_id = $1`
        return (await world.pool.pg.query(query, [account.id])).rows[0].count as number
      })
      return Promise.all(counts)
    }
    const before = await count()
    const first = await create(what, given)
    t.equal(first.status, 201)
    const again = await create(what, given)
    t.strictSame([again.status, again.body], [201, first.body])
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    shows(t, await create(what, another), { status: 409, body: { name: 'invalid_idempotent_request' } })
    for (const key of ['', 'x'.repeat(256)])
      shows(t, await create(key, another), { status: 400, body: { name: 'invalid_idempotency_key' } })
    t.strictSame(
      await count(),
      before.map(number => number + 1),
    )
  })
}

/** They have a name that is unique, or update the record that is there: repeated, they create nothing. */
const repeatable = [
  'claimDomain',
  'createAudience',
  'createAudienceContact',
  'createContact',
  'createContactProperty',
  'createDomain',
  'createSegment',
  'createSuppression',
  'createTopic',
]

t.test('every operation that creates something takes an Idempotency-Key, or creates it once anyway', async t => {
  const keyless = operations.filter(
    ({ answers, headers = [] }) => 201 in answers && !headers.includes('Idempotency-Key'),
  )
  t.strictSame(keyless.map(({ id }) => id).sort(), repeatable)
})
