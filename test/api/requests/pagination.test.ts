import t from 'tap'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const beforeAll = newId()
const ids: string[] = []
for (let i = 0; i < 25; i++) ids.unshift(await acceptEmail(world, account))
const afterAll = newId()
const [newest = '', second = ''] = ids
const oldest = ids.at(-1) as string

type List = { object: string; has_more: boolean; data: { id: string; name: string }[] }

async function page(query: string) {
  const { status, body } = await api.request('GET', `/api/emails${query}`)
  const { data, ...list } = body as unknown as List
  return { ...list, status, data: data.map(item => item.id) }
}

const pageOf = (data: string[], has_more: boolean) => ({ status: 200, object: 'list', has_more, data })

t.test('GET /emails returns only the fields of a list', async t => {
  const { body } = await api.request('GET', '/api/emails?limit=1')
  t.strictSame(Object.keys(body).sort(), ['data', 'has_more', 'object'])
  const item = body.data[0] ?? {}
  t.match(item, { object: 'email', id: newest })
  for (const field of ['html', 'text', 'headers', 'attachments', 'events', 'queue']) t.notOk(field in item, field)
})

t.test('GET /emails returns 20 emails, or 1 to 100 by `limit`', async t => {
  t.strictSame(await page(''), pageOf(ids.slice(0, 20), true))
  t.strictSame(await page('?limit=1'), pageOf([newest], true))
  t.strictSame(await page('?limit=24'), pageOf(ids.slice(0, 24), true))
  t.strictSame(await page('?limit=25'), pageOf(ids, false))
  t.strictSame(await page('?limit=100'), pageOf(ids, false))
})

t.test('`after` and `before` return what follows or precedes an id, newest first', async t => {
  t.strictSame(await page(`?after=${newest}`), pageOf(ids.slice(1, 21), true))
  t.strictSame(await page(`?after=${ids[4]}`), pageOf(ids.slice(5), false))
  t.strictSame(await page(`?after=${ids[4]}&limit=3`), pageOf(ids.slice(5, 8), true))
  t.strictSame(await page(`?after=${ids[22]}&limit=2`), pageOf(ids.slice(23), false))
  t.strictSame(await page(`?after=${oldest}`), pageOf([], false))

  t.strictSame(await page(`?before=${oldest}`), pageOf(ids.slice(4, 24), true))
  t.strictSame(await page(`?before=${ids[20]}`), pageOf(ids.slice(0, 20), false))
  t.strictSame(await page(`?before=${ids[20]}&limit=3`), pageOf(ids.slice(17, 20), true))
  t.strictSame(await page(`?before=${second}&limit=1`), pageOf([newest], false))
  t.strictSame(await page(`?before=${newest}`), pageOf([], false))
})

t.test('paging in either direction returns each email once', async t => {
  for (const limit of [1, 7, 25]) {
    const forward: string[] = []
    for (let next = await page(`?limit=${limit}`); ; next = await page(`?limit=${limit}&after=${forward.at(-1)}`)) {
      forward.push(...next.data)
      if (!next.has_more) break
    }
    t.strictSame(forward, ids)

    const back: string[] = [oldest]
    for (let has_more = true; has_more; ) {
      const previous = await page(`?limit=${limit}&before=${back[0]}`)
      back.unshift(...previous.data)
      has_more = previous.has_more
    }
    t.strictSame(back, ids)
  }
})

t.test('an unknown id is a valid cursor, of any UUID version', async t => {
  t.strictSame(await page(`?after=${beforeAll}`), pageOf([], false))
  t.strictSame(await page(`?before=${afterAll}`), pageOf([], false))
  t.strictSame(await page(`?after=${afterAll}&limit=2`), pageOf([newest, second], true))
  t.strictSame(await page(`?before=${beforeAll}&limit=1`), pageOf([oldest], true))
  shows(t, await page('?before=11111111-1111-1111-1111-111111111111'), { status: 200, data: [] })
  t.strictSame(await page(`?after=${ids[4]?.toUpperCase()}&limit=1`), pageOf([ids[5] as string], true))
})

t.test('paging continues after the row of the cursor is deleted', async t => {
  const gone = await acceptEmail(world, account)
  t.strictSame(await page(`?after=${gone}&limit=2`), pageOf([newest, second], true))
  await world.pool.pg.query('DELETE FROM emails WHERE id = $1', [gone])
  t.strictSame(await page(`?after=${gone}&limit=2`), pageOf([newest, second], true))
})

t.test('GET /api-keys without a limit returns up to 1,000 keys', async t => {
  const other = await newAccount(world)
  const list = async (query: string) => {
    const { body } = await api.request('GET', `/api/api-keys${query}`, { key: other.key })
    return body as unknown as List
  }
  shows(t, await list(''), { has_more: false, data: [{ name: 'sending' }, { name: 'full' }] })
  shows(t, await list('?limit=1'), { has_more: true, data: [{ name: 'sending' }] })
  await world.pool.transaction(async tx => {
    const key = { account_id: other.id, permission: 'sending_access', domain_id: null, expires_at: null } as const
    for (let i = 0; i < 999; i++) await createApiKey(tx, world.secrets, { ...key, name: `key ${i}` })
  })
  const all = await list('')
  shows(t, all, { has_more: true, data: { length: 1_000 } })
  t.equal(all.data[0]?.name, 'key 998')
  t.equal(all.data.length, 1000)
  shows(t, await list(`?after=${all.data.at(-1)?.id}`), { has_more: false, data: [{ name: 'full' }] })
})
