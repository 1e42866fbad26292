import fc from 'fast-check'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const id = await acceptEmail(world, account)
const positions = ['limit', 'after', 'before']
const filters = [
  'status',
  'folder',
  'q',
  'domain',
  'template_id',
  'tag',
  'from',
  'to',
  'created_after',
  'created_before',
  'read',
  'category',
  'campaign_id',
]
const lists = [
  '/api/emails',
  '/api/api-keys',
  '/api/templates',
  '/api/domains',
  '/api/suppressions',
  '/api/emails/receiving',
]

const limits = [
  ...['0', '-1', '101', '1000', '1e9', '1e1', '01', '1.0', '1.5', '0x10', '', ' 1', '1 ', '+1', '1\0', 'ten', 'NaN'],
  ...['\u0661', 'null', '9'.repeat(40)],
]
const cursors = [
  ...['', 'x', '1', 'null', `${id}0`, id.slice(1), `{${id}}`, id.replaceAll('-', ''), `${id}\0`, `${id}\n`, ` ${id}`],
  ...[`${id}'--`, `urn:uuid:${id}`],
]
const wrong = [
  ...limits.map(limit => `limit=${encodeURIComponent(limit)}`),
  ...cursors.flatMap(cursor => [`after=${encodeURIComponent(cursor)}`, `before=${encodeURIComponent(cursor)}`]),
  ...['limit=+5', 'limit=1&limit=2', 'limit=1&limit=1', 'limit=1&limit=x', 'limit'],
  ...[`after=${id}&after=${id}`, `before=${id}&before=x`, `after=${id}&before=${id}`, `after=${id}&before=`],
]

t.test('invalid limits and cursors are refused with 422', async t => {
  for (const query of wrong) {
    for (const path of lists) {
      const { body } = await api.request('GET', `${path}?${query}`)
      t.match(body, { statusCode: 422, name: 'validation_error', message: /limit|after|before/ }, query)
    }
  }
})

t.test('unknown query parameters are ignored', async t => {
  for (const query of [
    ...[
      'x=1',
      'limit[]=0',
      'limit%5B%5D=0',
      'LIMIT=0',
      '__proto__=1',
      'constructor=1',
      'toString',
      '&&=&',
      '%',
      '%ff=%ff',
    ],
    ...['limits=0', Array(2_000).fill('a=b').join('&')],
  ]) {
    for (const path of lists) t.match(await api.request('GET', `${path}?${query}`), { status: 200 }, query.slice(0, 20))
  }
})

t.test('any query gets a list or a validation_error', async t => {
  const value = fc.oneof(
    fc.array(fc.nat({ max: 0xffff })).map(units => String.fromCharCode(...units)),
    fc.constantFrom(...limits, ...cursors, '5', id),
    fc.nat().map(String),
  )
  const name = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...positions, ...filters) }, fc.string())
  const encoded = fc.array(fc.tuple(name, value), { maxLength: 4 }).map(pairs => new URLSearchParams(pairs).toString())
  const raw = fc.string({ unit: fc.constantFrom(...'limit=afterbefore&%0f+;[]') })

  await t.resolves(
    fc.assert(
      fc.asyncProperty(fc.constantFrom(...lists), fc.oneof(encoded, raw), async (path, query) => {
        const { status, text, body } = await api.request('GET', `${path}?${query}`)
        const isList = status === 200 && 'has_more' in body
        if (!isList && body.name !== 'validation_error') throw new Error(`${status} ${text}`)
      }),
      { numRuns: 200 },
    ),
  )
})
