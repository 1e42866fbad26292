import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const owner = await newMember(world, account.id, 'owner')
const { pg } = world.pool

const asOwner = { cookie: `mailbrook=${await sessionOf(world, owner.id)}`, 'sec-fetch-site': 'same-origin' }
const ask = (path: string, key: string, body: unknown) =>
  api.request('POST', `/api${path}`, { key: null, body, headers: { ...asOwner, 'idempotency-key': key } })

const endpoint = 'https://hook.acme.com/'
const webhook = { endpoint, events: ['email.sent'] }
const { id } = (await ask('/webhooks', 'first', webhook)).body

/** The path of what is created, its table, the field with the secret, and two bodies that ask for different things. */
const creations: [string, string, string, object, object][] = [
  ['/webhooks', 'webhooks', 'signing_secret', webhook, { endpoint, events: ['email.opened'] }],
  ['/api-keys', 'api_keys', 'token', { name: 'A' }, { name: 'B' }],
  ['/members', 'member_links', 'url', { email: 'a@b.com', role: 'admin' }, { email: 'b@b.com', role: 'admin' }],
]

for (const [path, table, field, given, another] of creations) {
  t.test(`POST ${path} repeats its secret for the same Idempotency-Key, which is stored sealed`, async t => {
    const count = async () =>
      (await pg.query(`SELECT count(*)::int FROM ${table} WHERE account_id = $1`, [account.id])).rows[0].count
    const before = await count()
    const first = await ask(path, 'one', given)
    t.equal(first.status, 201)
    const again = await ask(path, 'one', given)
    t.strictSame([again.status, again.text], [201, first.text])
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    shows(t, await ask(path, 'one', another), { status: 409, body: { name: 'invalid_idempotent_request' } })
    shows(t, await ask(path, 'x'.repeat(256), given), { status: 400, body: { name: 'invalid_idempotency_key' } })
    t.equal(await count(), before + 1)

    const secret = String((first.body as unknown as Record<string, unknown>)[field])
    t.ok(secret.length > 20)
    const { rows } = await pg.query(`SELECT answer::text FROM idempotency_keys WHERE route = $1 AND key = 'one'`, [
      path,
    ])
    t.equal(rows.length, 1)
    t.notOk(rows[0].answer.includes(secret.slice(-20)))
  })
}

t.test('POST /webhooks/:id/signing-secret/rotate makes one secret per Idempotency-Key', async t => {
  for (const path of [`/webhooks/${id}/signing-secret/rotate`, `/webhooks/${id}/rotate`]) {
    const first = await ask(path, path, undefined)
    const again = await ask(path, path, undefined)
    t.strictSame([again.status, again.text], [200, first.text])
    t.not((await ask(path, `${path} 2`, undefined)).text, first.text)
  }
})

t.test('a sealed answer cannot be moved to another key', async t => {
  await ask('/api-keys', 'from', { name: 'Moved' })
  await ask('/api-keys', 'to', { name: 'Moved' })
  await pg.query(
    `UPDATE idempotency_keys SET answer = (SELECT answer FROM idempotency_keys WHERE route = '/api-keys' AND key = 'from')
     WHERE route = '/api-keys' AND key = 'to'`,
  )
  t.equal((await ask('/api-keys', 'to', { name: 'Moved' })).status, 500)
})

t.test('a repeated request is one entry of the audit log', async t => {
  for (const _ of [1, 2]) await ask('/api-keys', 'audited', { name: 'Audited' })
  const { rows } = await pg.query(
    `SELECT count(*)::int FROM audit_log WHERE account_id = $1 AND action = 'createApiKey'
     AND created_at >= (SELECT created_at FROM idempotency_keys WHERE key = 'audited')`,
    [account.id],
  )
  t.equal(rows[0].count, 1)
})
