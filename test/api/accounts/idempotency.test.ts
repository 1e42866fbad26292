import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const emailOf = ({ domain }: TestAccount) => ({ from: `ann@${domain}`, to: ['bob@b.com'], subject: 'Hi' })
const email = emailOf(account)
let keys = 0
const newKey = () => `key ${++keys}`

async function send(key: string, body: unknown = email, options: { key?: string | null; raw?: string } = {}) {
  const headers = { 'idempotency-key': key }
  const {
    status,
    headers: answered,
    text,
    body: answer,
  } = await api.request('POST', '/api/emails', { body, headers, ...options })
  return { status, text, id: answer.id, name: answer.name, replayed: answered.get('idempotent-replayed') }
}

const conflict = { status: 409, name: 'invalid_idempotent_request' }

async function countEmails(): Promise<number> {
  const { rows } = await world.pool.pg.query('SELECT count(*) FROM emails')
  return rows[0].count
}

t.test('the same key and payload replay the first response with Idempotent-Replayed', async t => {
  const key = newKey()
  const first = await send(key)
  t.match(first, { status: 200, replayed: null })
  const before = await countEmails()
  for (let i = 0; i < 3; i++) t.strictSame(await send(key), { ...first, replayed: 'true' })
  t.equal(await countEmails(), before)
})

t.test('requests without a key or with different keys are never replayed', async t => {
  const ids = new Set<string>()
  for (const key of [newKey(), newKey()]) ids.add((await send(key)).id)
  for (let i = 0; i < 2; i++) ids.add((await api.request('POST', '/api/emails', { body: email })).body.id)
  t.equal(ids.size, 4)
})

t.test('field order, white space and escapes do not change the payload of a key', async t => {
  const key = newKey()
  const body = { ...email, headers: { 'X-A': '1', 'X-B': '2' }, tags: [{ name: 'a', value: 'b' }] }
  const { id } = await send(key, body)
  const reversed = Object.fromEntries(Object.entries({ ...body, headers: { 'X-B': '2', 'X-A': '1' } }).reverse())
  const escaped = JSON.stringify(body).replace('Hi', '\\u0048\\u0069')
  for (const raw of [JSON.stringify(reversed), JSON.stringify(body, null, '\t'), ` ${escaped}\n`]) {
    t.match(await send(key, undefined, { raw }), { status: 200, id, replayed: 'true' })
  }
})

t.test('a camelCase and a snake_case name are different payloads of an Idempotency-Key', async t => {
  const key = newKey()
  const { id } = await send(key, { ...email, replyTo: 'ann@b.com' })
  t.match(await send(key, { ...email, replyTo: 'ann@b.com' }), { status: 200, id, replayed: 'true' })
  t.match(await send(key, { ...email, reply_to: 'ann@b.com' }), conflict)
})

t.test('an Idempotency-Key with another payload is a conflict and sends nothing', async t => {
  const key = newKey()
  const { id } = await send(key)
  const before = await countEmails()
  for (const change of [
    ...[{ subject: 'hi' }, { subject: 'Hi ' }, { to: ['bob@b.com', 'bob@b.com'] }, { to: 'bob@b.com' }, { cc: [] }],
    ...[{ text: null }, { text: '' }, { from: `Ann <${email.from}>` }, { unknown: 1 }, { html: 'x' }],
  ]) {
    t.match(await send(key, { ...email, ...change }), conflict, JSON.stringify(change))
  }
  t.equal(await countEmails(), before)
  t.match(await send(key), { status: 200, id, replayed: 'true' })
})

t.test('accounts do not share idempotency keys', async t => {
  const key = newKey()
  const { id } = await send(key)
  const other = await newAccount(world)
  const answer = await send(key, emailOf(other), { key: other.key })
  t.match(answer, { status: 200, replayed: null })
  t.not(answer.id, id)
})

t.test('a failed request leaves its Idempotency-Key free', async t => {
  const key = newKey()
  const bad = { ...email, to: ['x@example.com'] }
  const failures = [
    await send(key, email, { key: null }),
    await send(key, email, { key: 'mb_x' }),
    await send(key, undefined, { raw: '{' }),
    await send(key, { ...email, to: ['x'] }),
    await send(key, bad),
    await send(key, { ...email, from: 'ann@not-mine.com' }),
  ]
  t.strictSame(
    failures.map(({ status }) => status),
    [401, 403, 422, 422, 422, 422],
  )
  t.match(await send(key), { status: 200, replayed: null })
})

t.test('an Idempotency-Key can be reused after 24 hours', async t => {
  const key = newKey()
  const { id } = await send(key)
  const age = (interval: string) =>
    world.pool.pg.query(`UPDATE idempotency_keys SET created_at = now() - $2::interval WHERE key = $1`, [key, interval])

  await age('23 hours 59 minutes')
  t.match(await send(key), { status: 200, id, replayed: 'true' })
  t.match(await send(key, { ...email, text: 'x' }), conflict)
  await age('24 hours 1 minute')
  const second = await send(key, { ...email, text: 'x' })
  t.match(second, { status: 200, replayed: null })
  t.not(second.id, id)
  t.match(await send(key, { ...email, text: 'x' }), { id: second.id, replayed: 'true' })
  t.match(await send(key), conflict)
})

t.test('a retry replays even if its domain was deleted', async t => {
  const gone = await newAccount(world)
  const key = newKey()
  const { id } = await send(key, emailOf(gone), { key: gone.key })
  await world.pool.pg.query('DELETE FROM domains WHERE id = $1', [gone.domain_id])
  t.match(await send(key, emailOf(gone), { key: gone.key }), { status: 200, id, replayed: 'true' })
  t.match(await send(newKey(), emailOf(gone), { key: gone.key }), { status: 422 })
})
