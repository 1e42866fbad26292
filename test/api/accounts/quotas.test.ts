import fc from 'fast-check'
import t from 'tap'
import { type Api, startApi } from '#test/support/api.ts'
import { givePlan } from '#test/support/database/states.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const other = await newAccount(world)
const api = await startApi(t, world, other.key)
const elsewhere = await startApi(t, world, other.key)
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values).then(result => result.rows)

type Limits = { day?: number | null; month?: number | null; credits?: number }

/** An account on a plan of its own. */
async function openAccount({ day = null, month = null, credits = 0 }: Limits): Promise<TestAccount> {
  const account = await newAccount(world)
  await givePlan(world, account, { emails_per_day: day, emails_per_month: month })
  await query('UPDATE account_usage SET credits = $1 WHERE account_id = $2', [credits, account.id])
  return account
}

function send(account: TestAccount, fields: Record<string, unknown> = {}, through: Api = api, headers = {}) {
  const body = { from: `a@${account.domain}`, to: 'b@b.com', subject: 'Hi', ...fields }
  return through.request('POST', '/api/emails', { key: account.key, body, headers })
}

const people = (count: number) => Array.from({ length: count }, (_, n) => `p${n}@b.com`)
const daily = { status: 429, body: { statusCode: 429, name: 'daily_quota_exceeded' } }
const monthly = { status: 429, body: { statusCode: 429, name: 'monthly_quota_exceeded' } }

async function creditsOf({ id }: TestAccount): Promise<number> {
  return (await query('SELECT credits FROM account_usage WHERE account_id = $1', [id]))[0].credits
}

t.test('the free plan has quotas; an unlimited account is not counted', async t => {
  t.strictSame(await query("SELECT * FROM plans WHERE name IN ('free', 'unlimited') ORDER BY name"), [
    {
      name: 'free',
      emails_per_day: 100,
      emails_per_month: 3_000,
      domains: 1,
      ai_credits: 100,
      automation_runs: 1_000,
    },
    {
      name: 'unlimited',
      emails_per_day: null,
      emails_per_month: null,
      domains: null,
      ai_credits: null,
      automation_runs: null,
    },
  ])
  for (const to of [people(50), people(50), people(50)]) t.match(await send(other, { to }), { status: 200 })
  t.strictSame(await query('SELECT FROM usage_minutes WHERE account_id = $1', [other.id]), [], 'and it is not counted')
})

t.test('each recipient counts, and a request over quota stores nothing', async t => {
  const account = await openAccount({ day: 5 })
  t.match(await send(account, { to: people(2), cc: 'c@c.com' }), { status: 200 })
  t.match(await send(account, { to: people(3) }), daily)
  t.match(await send(account, { to: people(1), bcc: ['d@d.com', 'reserved@example.com'] }), { status: 200 }, 'dropped')
  t.match(await send(account), daily)
  const [{ emails }] = await query('SELECT count(*)::int AS emails FROM emails WHERE account_id = $1', [account.id])
  t.equal(emails, 2, 'a refused request stores nothing')
})

t.test('mail to the simulator counts toward the quota', async t => {
  const account = await openAccount({ day: 1 })
  t.match(await send(account, { to: `delivered@${world.config.SIMULATOR_DOMAIN}` }), { status: 200 })
  t.match(await send(account), daily)
})

t.test('emails stop counting toward the quota when they leave its window', async t => {
  const account = await openAccount({ day: 1, month: 2 })
  await send(account)
  const age = (interval: string) =>
    query('UPDATE usage_minutes SET minute = minute - $2::interval WHERE account_id = $1', [account.id, interval])
  await age('24 hours')
  t.match(await send(account), daily)
  await age('2 minutes')
  t.match(await send(account), { status: 200 })
  await age('24 hours 2 minutes')
  t.match(await send(account), monthly)
  await query("UPDATE usage_hours SET hour = hour - interval '30 days 2 hours' WHERE account_id = $1", [account.id])
  t.match(await send(account), { status: 200 })
})

t.test('credits extend only the monthly quota, and are used up', async t => {
  const account = await openAccount({ day: 4, month: 1, credits: 5 })
  t.match(await send(account, { to: people(3) }), { status: 200 })
  t.equal(await creditsOf(account), 3, 'one email was within the quota')
  t.match(await send(account, { to: people(2) }), daily)
  await query('DELETE FROM usage_minutes WHERE account_id = $1', [account.id])
  t.match(await send(account, { to: people(4) }), monthly)
  t.match(await send(account, { to: people(3) }), { status: 200 })
  t.equal(await creditsOf(account), 0)
  await query('DELETE FROM usage_minutes WHERE account_id = $1', [account.id])
  t.match(await send(account), monthly)
})

t.test('canceling an email refunds quota and credits', async t => {
  const account = await openAccount({ day: 3, month: 2, credits: 1 })
  const { body } = await send(account, { to: people(3), scheduled_at: 'in 2 hours' })
  t.match(await send(account), daily)
  t.match(await api.request('POST', `/api/emails/${body.id}/cancel`, { key: account.key }), { status: 200 })
  t.equal(await creditsOf(account), 1)
  t.match(await send(account, { to: people(3) }), { status: 200 })
  t.match(await send(account), daily)
})

t.test('a replay is not debited, and a refused request leaves its key free', async t => {
  const account = await openAccount({ day: 1 })
  const headers = { 'idempotency-key': 'one' }
  const first = await send(account, {}, api, headers)
  t.match(await send(account, {}, api, headers), { status: 200, text: first.text })
  const refused = { 'idempotency-key': 'two' }
  t.match(await send(account, {}, api, refused), daily)
  await query('UPDATE plans SET emails_per_day = 2 WHERE name = (SELECT plan FROM accounts WHERE id = $1)', [
    account.id,
  ])
  t.match(await send(account, {}, api, refused), { status: 200 })
})

t.test('300 concurrent requests to two processes get exactly the remaining quota', async t => {
  const account = await openAccount({ day: 100 })
  const sizes = Array.from({ length: 300 }, (_, n) => (n % 10 === 0 ? 7 : 1))
  const answers = await Promise.all(
    sizes.map(async (size, n) => {
      const { status } = await send(account, { to: people(size) }, n % 2 ? api : elsewhere)
      return { size, status }
    }),
  )
  const accepted = answers.filter(({ status }) => status === 200).reduce((sum, { size }) => sum + size, 0)
  t.equal(accepted, 100)
  t.strictSame([...new Set(answers.map(({ status }) => status))].sort(), [200, 429])
  const counted = await query(
    `SELECT (SELECT count(*)::int FROM deliveries WHERE account_id = $1) AS deliveries,
      (SELECT sum(quota_debit)::int FROM emails WHERE account_id = $1) AS debited,
      (SELECT sum(emails)::int FROM usage_minutes WHERE account_id = $1) AS of_the_day,
      (SELECT sum(emails)::int FROM usage_hours WHERE account_id = $1) AS of_the_month`,
    [account.id],
  )
  t.strictSame(counted, [{ deliveries: 100, debited: 100, of_the_day: 100, of_the_month: 100 }])
})

t.test('a quota refusal names the limit, the rest and the time to retry', async t => {
  const account = await openAccount({ day: 5, month: 20, credits: 3 })
  t.match(await send(account, { to: people(4) }), { status: 200 })
  const { body, headers } = await send(account, { to: people(2) })
  const [, text = '', at = ''] = /^(.*) There is room for the request at (.*)\.$/.exec(body.message) ?? []
  t.equal(text, 'The request needs 2 emails. Your plan allows 5 in any 24 hours, of which 1 is left.')
  const wait = Number(headers.get('retry-after'))
  t.ok(wait > 86_400 && wait <= 86_460, `${wait}: until its whole minute has left the window`)
  t.ok(Math.abs(Date.parse(at) - Date.now() - wait * 1_000) < 10_000, at)

  const never = await send(account, { to: people(6) })
  t.equal(
    never.body.message,
    'The request needs 6 emails. Your plan allows 5 in any 24 hours, of which 1 is left. It never allows so many: send fewer at a time.',
  )
  t.equal(never.headers.get('retry-after'), null)

  await query('DELETE FROM usage_minutes WHERE account_id = $1', [account.id])
  await query('UPDATE plans SET emails_per_day = NULL WHERE name = (SELECT plan FROM accounts WHERE id = $1)', [
    account.id,
  ])
  const month = await send(account, { to: people(20) })
  t.match(
    month.body.message,
    /^The request needs 20 emails\. Your plan allows 20 in any 30 days, of which 16 are left, and 3 credits beyond it\. There/,
  )
})

t.test('Retry-After of a batch says when all of it fits the quota', async t => {
  const account = await openAccount({ day: 10 })
  await setUsage(account, 'minute', [
    [600, 4],
    [60, 4],
  ])
  const body = Array.from({ length: 7 }, () => ({ from: `a@${account.domain}`, to: 'b@b.com', subject: 'Hi' }))
  for (const mode of ['strict', 'permissive']) {
    const batch = () =>
      api.request('POST', '/api/emails/batch', { key: account.key, body, headers: { 'x-batch-validation': mode } })
    const refused = await batch()
    t.match(refused, daily)
    t.match(
      refused.body.message,
      'The request needs 7 emails. Your plan allows 10 in any 24 hours, of which 2 are left.',
    )
    const wait = Number(refused.headers.get('retry-after'))
    t.ok(wait > 86_400 - 60 && wait <= 86_400, `${wait}: the older 4 are not enough`)
  }
})

t.test('Retry-After is exact for any history of usage', async t => {
  const bucket = (seconds: number) => fc.tuple(fc.integer({ min: 0, max: seconds }), fc.integer({ min: 1, max: 9 }))
  const usage = fc.record({
    minutes: fc.array(bucket(86_000), { maxLength: 8 }),
    hours: fc.array(bucket(2_580_000), { maxLength: 8 }),
    day: fc.option(fc.integer({ min: 1, max: 40 })),
    month: fc.option(fc.integer({ min: 1, max: 40 })),
    credits: fc.integer({ min: 0, max: 3 }),
    size: fc.integer({ min: 1, max: 12 }),
  })
  let refusals = 0
  await fc.assert(
    fc.asyncProperty(usage, async ({ minutes, hours, size, ...limits }) => {
      const account = await openAccount(limits)
      await setUsage(account, 'minute', minutes)
      await setUsage(account, 'hour', hours)
      const first = await send(account, { to: people(size) })
      if (first.status === 200) return
      t.equal(first.status, 429, first.text)
      const wait = Number(first.headers.get('retry-after') ?? 0)
      if (wait === 0) {
        const most = Math.min(limits.day ?? 99, (limits.month ?? 99) + limits.credits)
        t.ok(size > most, `${size} exceeds the limit of ${most}, so there is no Retry-After`)
        return
      }
      refusals++
      await elapse(account, Math.max(0, wait - 3))
      t.equal((await send(account, { to: people(size) })).status, 429, `3 s before ${wait}`)
      await elapse(account, 3)
      const last = await send(account, { to: people(size) })
      t.equal(last.status, 200, `after ${wait}: ${last.text}`)
    }),
    { numRuns: 60 },
  )
  t.ok(refusals > 5, `${refusals} refusals`)
})

/** Adds usage from the given numbers of seconds ago. */
async function setUsage({ id }: TestAccount, step: 'minute' | 'hour', buckets: [ago: number, emails: number][]) {
  for (const [ago, emails] of buckets) {
    await query(
      `INSERT INTO usage_${step}s AS u VALUES ($1, date_trunc('${step}', now() - $2 * interval '1 second'), $3)
       ON CONFLICT (account_id, ${step}) DO UPDATE SET emails = u.emails + excluded.emails`,
      [id, ago, emails],
    )
  }
}

/** Moves usage into the past, by a fraction more so that no bucket collides with the key of another. */
async function elapse({ id }: TestAccount, time: number) {
  const seconds = time + 0.000_123
  await query(`UPDATE usage_minutes SET minute = minute - $2 * interval '1 second' WHERE account_id = $1`, [
    id,
    seconds,
  ])
  await query(`UPDATE usage_hours SET hour = hour - $2 * interval '1 second' WHERE account_id = $1`, [id, seconds])
}
