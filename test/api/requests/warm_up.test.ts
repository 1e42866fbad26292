import t from 'tap'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { createPool } from '#sql/pool.ts'
import { setWarmUp } from '#sql/safety/platform.ts'
import { insertEmails } from '#sql/sending/accept/drafts.ts'
import { type Api, startApi } from '#test/support/api.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const api = await startApi(t, world, '')
const elsewhere = await startApi(t, { ...world, pool: openPool() }, '')
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values).then(result => result.rows)
const people = (count: number) => Array.from({ length: count }, (_, n) => `p${n}@b.com`)
const refused = { status: 429, body: { statusCode: 429, name: 'reputation_limit_exceeded' } }

function openPool() {
  const pool = createPool(world.config.DATABASE_URL as string)
  t.teardown(() => pool.end())
  return pool
}

/** Creates an account whose domain was verified that long ago. */
async function openAccount(age: string): Promise<TestAccount> {
  const account = await newAccount(world)
  await query('UPDATE domains SET verified_at = now() - $2::interval WHERE account_id = $1', [account.id, age])
  return account
}

function send(account: TestAccount, count = 1, through: Api = api, headers = {}) {
  const body = { from: `a@${account.domain}`, to: people(count), subject: 'Hi' }
  return through.request('POST', '/api/emails', { key: account.key, body, headers })
}

const sentBy = async ({ id }: TestAccount): Promise<number> =>
  (await query('SELECT count(*)::int AS sent FROM deliveries WHERE account_id = $1', [id]))[0].sent

t.beforeEach(() => setWarmUp(world.pool, 5))

t.test('a new domain has a limit that doubles daily for 14 days', async t => {
  for (const [age, room] of [
    ['1 hour', 5],
    ['23 hours', 5],
    ['25 hours', 10],
    ['73 hours', 40],
  ] as const) {
    const account = await openAccount(age)
    t.match(await send(account, room + 1 > 50 ? 50 : room), { status: 200 }, age)
    t.match(await send(account), refused)
  }
  const grown = await openAccount('337 hours')
  for (let n = 0; n < 3; n++) t.match(await send(grown, 50), { status: 200 })
  t.strictSame(await query('SELECT FROM warm_up_usage WHERE account_id = $1', [grown.id]), [], 'and it is not counted')
})

t.test('a warm-up refusal has Retry-After, stores nothing and leaves the key free', async t => {
  const account = await openAccount('23 hours')
  const headers = { 'idempotency-key': 'one' }
  await send(account, 3)
  const answer = await send(account, 3, api, headers)
  t.match(answer, refused)
  const seconds = (answer: { headers: Headers }) => Number(answer.headers.get('retry-after'))
  t.ok(seconds(answer) > 3_500 && seconds(answer) <= 3_600, `${seconds(answer)} s`)
  const large = seconds(await send(account, 11)) // 10 on the second day, 20 on the third
  t.ok(large > 86_400 + 3_500 && large <= 86_400 + 3_600, `${large} s`)
  t.match(await send(account, 2), { status: 200 })
  await query(`UPDATE domains SET verified_at = verified_at - interval '1 hour' WHERE account_id = $1`, [account.id])
  t.match(await send(account, 3, api, headers), { status: 200 }, 'the next day, with the same key')
})

t.test('each domain warms up separately; without a warm-up nothing is counted', async t => {
  const [one, other] = [await openAccount('1 hour'), await openAccount('1 hour')]
  await send(one, 5)
  t.match(await send(other, 5), { status: 200 })
  await setWarmUp(world.pool, 0)
  t.match(await send(one, 50), { status: 200 })
  t.strictSame(await query('SELECT emails FROM warm_up_usage WHERE account_id = $1', [one.id]), [{ emails: 5 }])
})

t.test('a batch over the warm-up limit is refused, and a cancel is refunded', async t => {
  const account = await openAccount('1 hour')
  const email = { from: `a@${account.domain}`, to: 'b@b.com', subject: 'Hi' }
  const batch = (count: number, mode = 'strict') =>
    api.request('POST', '/api/emails/batch', {
      key: account.key,
      body: Array.from({ length: count }, () => email),
      headers: { 'x-batch-validation': mode },
    })
  for (const mode of ['strict', 'permissive']) {
    const answer = await batch(6, mode)
    t.match(answer, refused)
    t.match(answer.headers.get('retry-after'), /^\d+$/)
  }
  t.match(await batch(4), { status: 200 })
  const later = { ...email, scheduled_at: 'in 2 hours' }
  const { body } = await api.request('POST', '/api/emails', { key: account.key, body: later })
  t.match(await send(account), refused)
  await api.request('POST', `/api/emails/${body.id}/cancel`, { key: account.key })
  t.match(await send(account), { status: 200 })
  t.match(await send(account), refused)
})

t.test('exactly the remaining warm-up limit is accepted from 300 concurrent requests', async t => {
  await setWarmUp(world.pool, 100)
  const account = await openAccount('1 hour')
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, n) => send(account, n % 10 === 0 ? 7 : 1, n % 2 ? api : elsewhere)),
  )
  t.strictSame([...new Set(answers.map(({ status }) => status))].sort(), [200, 429])
  t.equal(await sentBy(account), 100)
  t.strictSame(await query('SELECT emails FROM warm_up_usage WHERE account_id = $1', [account.id]), [{ emails: 100 }])
})

t.test('inserts for the same accounts in opposite order never deadlock', async t => {
  await setWarmUp(world.pool, 1_000)
  const accounts = await Promise.all(Array.from({ length: 6 }, () => openAccount('1 hour')))
  const write = async (pool: ReturnType<typeof openPool>, order: TestAccount[]) => {
    for (let n = 0; n < 60; n++) await insertEmails(pool, order.map(draft))
  }
  // On separate pools: a deadlock would reject.
  await Promise.all([write(world.pool, accounts), write(openPool(), accounts.toReversed())])
  for (const account of accounts) t.equal(await sentBy(account), 120)
})

function draft(account: TestAccount) {
  const email = CompleteEmail.parse({ from: `a@${account.domain}`, to: 'b@b.com', subject: 'Hi' })
  return toDraft({ account_id: account.id, domain_id: null }, email, null, world.config.SIMULATOR_DOMAIN)
}
