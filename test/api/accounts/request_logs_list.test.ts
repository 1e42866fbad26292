import fc from 'fast-check'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { insertLogRows, type LogRow } from '#test/support/request_log.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const stranger = await newAccount(world)
const api = await startApi(t, world, account.key)

type List = { has_more: boolean; data: { id: string; endpoint: string }[] }

async function page(query: string, key = account.key) {
  const { status, body } = await api.request('GET', `/api/logs${query}`, { key })
  const { has_more, data } = body as unknown as List
  return { status, has_more, ids: data?.map(({ id }) => id) }
}

const rows: LogRow[] = [
  { endpoint: '/emails', created_at: '2026-01-01T00:00:00Z' },
  { endpoint: '/emails/1', status: 404, created_at: '2026-01-02T00:00:00Z', user_agent: 'resend-node:6.38.0' },
  { endpoint: '/emails', method: 'POST', status: 422, created_at: '2026-01-03T12:00:00.500Z', user_agent: 'Node' },
  { endpoint: '/contacts/100%25_a', method: 'PATCH', status: 500, created_at: '2026-01-04T00:00:00Z' },
  { endpoint: '/email\\s', status: 429, created_at: '2026-01-05T00:00:00Z', user_agent: '' },
]
const oldestFirst = await insertLogRows(world.pool, account, rows)
const ids = oldestFirst.toReversed()
await insertLogRows(world.pool, stranger, Array(3).fill({ endpoint: '/emails' }))

t.test('GET /logs lists own requests without bodies, newest first', async t => {
  const { body } = await api.request('GET', '/api/logs')
  t.match(body, { object: 'list', has_more: false })
  t.strictSame(
    body.data.map(({ id }) => id),
    ids,
  )
  t.strictSame(body.data[2], {
    object: 'log',
    id: ids[2],
    created_at: '2026-01-03T12:00:00.500Z',
    endpoint: '/emails',
    method: 'POST',
    response_status: 422,
    user_agent: 'Node',
  })
})

t.test('GET /logs/:id returns a request with its bodies; any other id is 404', async t => {
  await world.pool.pg.query(`UPDATE logs SET request_body = '{"b":1,"a":2}', response_body = '[]' WHERE id = $1`, [
    ids[0],
  ])
  const { text, body } = await api.request('GET', `/api/logs/${ids[0]}`)
  shows(t, body, { object: 'log', id: ids[0], endpoint: '/email\\s', response_body: [] })
  t.match(text, '"request_body":{"b":1,"a":2}')
  t.match((await api.request('GET', `/api/logs/${ids[1]}`)).body, { request_body: null, response_body: null })

  const [theirs = ''] = (await page('', stranger.key)).ids
  const beyond = ['9223372036854775807', '9223372036854775808', '9'.repeat(40), '1'.repeat(5_000)]
  const malformed = ['x', '1x', '-1', `0${ids[0]}`, '1.0', '1e3', '%00', '%D9%A1', '0x1', `%20${ids[0]}`]
  for (const id of [theirs, '0', ...beyond, ...malformed]) {
    const answer = await api.request('GET', `/api/logs/${id}`)
    t.match(answer, { status: 404, text: '{"statusCode":404,"name":"not_found","message":"Log not found"}' }, id)
  }
})

t.test('pages have 20 rows by default, and a cursor is a position', async t => {
  const other = await newAccount(world)
  const all = (await insertLogRows(world.pool, other, Array(25).fill({}))).reverse()
  const pageOf = (ids: string[], has_more: boolean) => ({ status: 200, has_more, ids })
  const list = (query: string) => page(query, other.key)
  t.strictSame(await list(''), pageOf(all.slice(0, 20), true))
  t.strictSame(await list('?limit=25'), pageOf(all, false))
  t.strictSame(await list(`?after=${all[19]}`), pageOf(all.slice(20), false))
  t.strictSame(await list(`?before=${all[20]}&limit=3`), pageOf(all.slice(17, 20), true))
  t.strictSame(await list(`?before=${all[3]}`), pageOf(all.slice(0, 3), false))
  for (const beyond of ['9223372036854775807', '9223372036854775808', '9'.repeat(50)]) {
    t.strictSame(await list(`?after=${beyond}&limit=1`), pageOf(all.slice(0, 1), true))
    t.strictSame(await list(`?before=${beyond}`), pageOf([], false))
  }
  t.strictSame(await list('?after=0'), pageOf([], false))
  t.strictSame(await list('?before=0&limit=1'), pageOf(all.slice(24), true))
  await world.pool.pg.query('DELETE FROM logs WHERE id = $1', [all[4]])
  t.strictSame(await list(`?after=${all[4]}&limit=2`), pageOf(all.slice(5, 7), true))
})

t.test('filters by method, status, endpoint, q and time apply together', async t => {
  for (const [query, ...found] of [
    ['method=POST', 2],
    ['method=DELETE'],
    ['status=422', 2],
    ['status=4xx', 0, 2, 3],
    ['status=2xx', 4],
    ['endpoint=/emails', 2, 3, 4],
    ['endpoint=/emails/', 3],
    ['endpoint=/_mails'],
    ['endpoint=/%25'],
    ['endpoint=/email%5C', 0],
    ['q=MAIL', 0, 2, 3, 4],
    ['q=node', 2, 3],
    ['q=%25', 1],
    ['q=_', 1],
    ['q=%5C', 0],
    ['created_after=2026-01-03T12:00:00.499Z', 0, 1, 2],
    ['created_after=2026-01-03T12:00:00.500Z', 0, 1],
    ['created_before=2026-01-02', 4],
    ['created_before=2026-01-03T00:00:00%2B02:00', 3, 4],
    ['created_after=2026-01-01&created_before=2026-01-04&status=4xx&q=node&method=GET', 3],
    ['created_after=0001-01-01T00:00:00Z&created_before=9999-12-31', 0, 1, 2, 3, 4],
  ] as [string, ...number[]][]) {
    const expected = found.map(n => ids[n])
    t.strictSame((await page(`?${query}`)).ids, expected, query)
  }
  t.strictSame((await page(`?status=4xx&after=${ids[0]}&limit=1`)).ids, [ids[2]], 'with a cursor')
})

t.test('invalid cursors and filters are refused with 422', async t => {
  const moments = ['', 'yesterday', '1', '2026', '2026-02-30', '2026-01-01T00:00', '2026-01-01T25:00:00Z', '%00']
  for (const query of [
    ...[
      '',
      'x',
      '-1',
      '+1',
      '01',
      '1.0',
      '1e3',
      '0x1',
      '%D9%A1',
      '1%00',
      '1%0a',
      '01a1fe06-bc30-74e2-b59b-779a16313e3d',
    ].flatMap(cursor => [`after=${cursor}`, `before=${cursor}`]),
    ...['after=1&before=2', 'after=1&after=1', 'limit=0', 'limit=101'],
    ...['', 'get', 'BREW', 'GET,POST', '%00'].map(method => `method=${method}`),
    ...['', '99', '600', '4XX', 'xx', '4x', '404,500', ' 404', '04xx', '6xx', '0xx'].map(status => `status=${status}`),
    ...['', 'emails', '/%00', `/${'x'.repeat(500)}`].map(endpoint => `endpoint=${endpoint}`),
    ...['', '%00', 'x'.repeat(501)].map(q => `q=${q}`),
    ...moments.flatMap(moment => [`created_after=${moment}`, `created_before=${moment}`]),
    ...['method=GET&method=GET', 'status=200&status=200', 'q=a&q=b', 'endpoint=/a&endpoint=/b'],
  ]) {
    t.match(await api.request('GET', `/api/logs?${query}`), { status: 422, body: { name: 'validation_error' } }, query)
  }
})

t.test('unknown query parameters are ignored', async t => {
  for (const query of ['x=1', '__proto__=1', 'constructor=1', 'METHOD=x', 'method[]=x', 'id=x', '%', '&&=&']) {
    t.strictSame((await page(`?${query}`)).ids, ids, query)
  }
})

t.test('any query gets a 200 or a 422', async t => {
  const names = ['limit', 'after', 'before', 'method', 'status', 'endpoint', 'q', 'created_after', 'created_before']
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('1', 'GET', '4xx', '/', '2026-01-01', '\0', '\ud800'),
    fc.date({ noInvalidDate: true }).map(date => date.toJSON()),
  )
  const query = fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 4 })
  await t.resolves(
    fc.assert(
      fc.asyncProperty(query, async pairs => {
        const { status, text } = await api.request('GET', `/api/logs?${new URLSearchParams(pairs)}`)
        if (status !== 200 && status !== 422) throw new Error(`${status} ${text}`)
      }),
      { numRuns: 200 },
    ),
  )
})
