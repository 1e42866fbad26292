import { Resend } from 'resend'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { subscribe, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const other = await newAccount(world)
const api = await startApi(t, world, account.key)
const { suppressions } = new Resend(account.key, { baseUrl: `${api.url}/api` })

const add = (body: unknown, key = account.key) => api.request('POST', '/api/suppressions/batch/add', { body, key })
const remove = (body: unknown, key = account.key) =>
  api.request('POST', '/api/suppressions/batch/remove', { body, key })
const listed = async (key = account.key) => {
  const { body } = await api.request('GET', '/api/suppressions', { key })
  return (body.data as unknown as { email: string }[]).map(({ email }) => email).sort()
}

t.test('the resend package adds, reads and removes suppressions', async t => {
  const added = await suppressions.batch.add({ emails: ['Ann@b.com', 'bob@b.com', 'ann@B.com'] })
  t.equal(added.error, null)
  const [ann, bob, again] = added.data?.data ?? []
  t.match(ann, { object: 'suppression', id: /^[0-9a-f-]{36}$/, email: 'ann@b.com' })
  t.same(again, ann, 'one address is one suppression')
  t.same(await suppressions.batch.add({ emails: ['bob@b.com'] }).then(({ data }) => data?.data), [bob])

  const { data: found } = await suppressions.get('ann@b.com')
  t.match(found, { object: 'suppression', id: ann?.id as string, origin: 'manual', source_id: null })
  const { data: list } = await suppressions.list({ origin: 'manual', limit: 1 })
  t.equal(list?.has_more, true)
  t.same((await suppressions.list({ origin: 'bounce' })).data?.data, [])

  const { data: byEmail } = await suppressions.batch.remove({ emails: ['ANN@b.com', 'nobody@b.com'] })
  t.same(byEmail?.data, [
    { object: 'suppression', id: ann?.id, email: 'ann@b.com', deleted: true },
    { object: 'suppression', id: null, email: 'nobody@b.com', deleted: false },
  ])
  const unknown = newId()
  const { data: byId } = await suppressions.batch.remove({ ids: [unknown, bob?.id as string] })
  t.same(byId?.data, [
    { object: 'suppression', id: unknown, email: null, deleted: false },
    { object: 'suppression', id: bob?.id, email: 'bob@b.com', deleted: true },
  ])
  t.same(await listed(), [])
})

t.test('`origin` filters suppressions by bounce, complaint or manual, which includes imports', async t => {
  const source_email_id = newId()
  for (const [address, reason] of Object.entries({ a: 'bounce', b: 'complaint', c: 'manual', d: 'import' })) {
    await world.pool.pg.query(
      `INSERT INTO suppressions (account_id, id, address, reason, source_email_id) VALUES ($1, $2, $3, $4, $5)`,
      [account.id, newId(), `${address}@b.com`, reason, source_email_id],
    )
  }
  for (const [origin, addresses] of [
    ['bounce', ['a@b.com']],
    ['complaint', ['b@b.com']],
    ['manual', ['d@b.com', 'c@b.com']],
  ] as const) {
    const { data } = await suppressions.list({ origin })
    t.same(
      data?.data.map(({ email }) => email),
      addresses,
    )
    for (const found of data?.data ?? []) t.match(found, { origin, source_id: source_email_id })
  }
  t.match(await api.request('GET', '/api/suppressions?origin=import'), { status: 422 })
})

t.test('a batch with any invalid item changes nothing', async t => {
  const before = await listed()
  const emails = Array.from({ length: 1_001 }, (_, n) => `n${n}@b.com`)
  for (const [ask, body, message] of [
    [add, {}, 'Missing `emails` field.'],
    [add, { emails: [] }, '`emails` must have 1 to 1,000 items.'],
    [add, { emails }, '`emails` must have 1 to 1,000 items.'],
    [add, { emails: ['x@b.com', 'nobody'] }, '`emails[1]` must be '],
    [add, { emails: ['x@b.com', `delivered@${world.config.SIMULATOR_DOMAIN}`] }, 'The simulator is never suppressed.'],
    [remove, {}, 'Missing `emails` or `ids` field.'],
    [remove, { emails: ['a@b.com'], ids: [newId()] }, 'The body must have either `emails` or `ids`.'],
    [remove, { emails: ['a@b.com', 'x'] }, '`emails[1]` must be '],
    [remove, { ids: ['x'] }, '`ids[0]` must be '],
  ] as const) {
    const { status, body: answer } = await ask(body)
    t.equal(status, 422)
    t.ok(answer.message.startsWith(message), answer.message)
  }
  t.same(await listed(), before)
})

t.test('1,000 addresses are added and removed at once', async t => {
  const emails = Array.from({ length: 1_000 }, (_, n) => `many${n}@b.com`)
  const { body } = await add({ emails })
  t.equal(new Set(body.data.map(({ id }) => id)).size, 1_000)
  const removed = await remove({ ids: body.data.map(({ id }) => id) })
  t.equal((removed.body.data as unknown as { deleted: boolean }[]).filter(({ deleted }) => deleted).length, 1_000)
})

t.test('webhooks get one event per address whose suppression was added or removed', async t => {
  const { id, key } = await newAccount(world)
  await subscribe(world, id, ['suppression.added', 'suppression.removed'])
  await add({ emails: ['a@b.com', 'A@b.com'] }, key)
  await add({ emails: ['a@b.com', 'b@b.com'] }, key)
  await remove({ emails: ['b@b.com', 'b@b.com', 'c@b.com'] }, key)
  t.same(
    (await takeEvents(world, id)).map(({ type, data }) => [type, data.email, data.origin, data.source_id]),
    [
      ['suppression.added', 'a@b.com', 'manual', null],
      ['suppression.added', 'b@b.com', 'manual', null],
      ['suppression.removed', 'b@b.com', 'manual', null],
    ],
  )
})

t.test('concurrent batches in any order do not deadlock', async t => {
  const emails = Array.from({ length: 200 }, (_, n) => `x${n}@b.com`)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => {
      const shuffled = emails.toSorted(() => Math.random() - 0.5)
      return n % 3 ? add({ emails: shuffled }) : remove({ emails: shuffled })
    }),
  )
  t.same(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
})

t.test('a batch removes no suppressions of another account', async t => {
  const { body } = await add({ emails: ['theirs@b.com'] }, other.key)
  for (const named of [{ emails: ['theirs@b.com'] }, { ids: [body.data[0]?.id] }]) {
    shows(t, await remove(named), { status: 200, body: { data: [{ deleted: false }] } })
  }
  t.same(await listed(other.key), ['theirs@b.com'])
})
