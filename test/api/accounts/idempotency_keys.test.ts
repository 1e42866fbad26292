import fc from 'fast-check'
import t from 'tap'
import { request } from 'undici'
import { layFoundation } from '#flows/process/run_process.ts'
import { hammer } from '#test/faults/hammer_one_key.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const elsewhere = await layFoundation(world.config, world.log)
t.teardown(() => elsewhere.pool.end())
const otherProcess = await startApi(t, elsewhere, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }

const send = (key: string) => api.request('POST', '/api/emails', { body: email, headers: { 'idempotency-key': key } })

async function countEmails(): Promise<number> {
  const { rows } = await world.pool.pg.query('SELECT count(*) FROM emails')
  return rows[0].count
}

t.test('an Idempotency-Key must have 1 to 255 printable characters and be given once', async t => {
  for (const key of ['a', 'x'.repeat(255), '~ !"#$%&\'()*+,/:;<=>?@[\\]^_`{|}', 'NULL', "'; --"]) {
    const { body } = await send(key)
    t.match(await send(key), { status: 200, body })
  }
  for (const key of ['', 'x'.repeat(256), 'é', '\xa0x', 'a\tb']) {
    t.match(await send(key), { status: 400, body: { name: 'invalid_idempotency_key' } }, encodeURIComponent(key))
  }
  const headers = ['authorization', `Bearer ${account.key}`, 'user-agent', 'x']
  for (const twice of [
    ['a', 'a'],
    ['a', 'b'],
  ]) {
    const lines = [...headers, ...twice.flatMap(key => ['idempotency-key', key])]
    const answer = await request(`${api.url}/api/emails`, {
      method: 'POST',
      headers: lines,
      body: JSON.stringify(email),
    })
    t.match(await answer.body.json(), { statusCode: 400, name: 'invalid_idempotency_key' })
  }
})

t.test('payloads of an Idempotency-Key are compared by meaning, not by bytes', async t => {
  let keys = 0
  const property = fc.asyncProperty(fc.jsonValue(), async value => {
    const headers = { 'idempotency-key': `pair ${++keys}` }
    const post = (raw: string) => api.request('POST', '/api/emails', { raw, headers })
    const { body: first } = await post(JSON.stringify({ ...email, unknown: value }))
    const { body: same } = await post(JSON.stringify({ unknown: reversed(value), ...email }, null, 2))
    const { body: other } = await post(JSON.stringify({ ...email, unknown: [value] }))
    return same.id === first.id && other.name === 'invalid_idempotent_request'
  })
  await t.resolves(fc.assert(property, { numRuns: 100 }))
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).reverse()
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]))
}

t.test('300 concurrent requests with one key to two servers send one email', async t => {
  const before = await countEmails()
  const options = { key: account.key, idempotency_key: 'one', email, requests: 300, connections: 50 }
  const { statuses, ids } = await hammer([api.url, otherProcess.url], options)
  t.equal(ids.size, 1)
  t.strictSame(
    Object.keys(statuses).filter(status => status !== '200' && status !== '409'),
    [],
  )
  t.equal(await countEmails(), before + 1)
})
