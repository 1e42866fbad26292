import { Resend } from 'resend'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { takeAiCredit } from '#sql/accounts/ai_usage.ts'
import { startApi } from '#test/support/api.ts'
import { createDraft } from '#test/support/campaigns.ts'
import { givePlan } from '#test/support/database/states.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addDomain, newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { SENDS_PER_MINUTE: '1000' })
const bystander = await newAccount(world)
const api = await startApi(t, world, bystander.key)
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values).then(result => result.rows)

// biome-ignore lint/suspicious/noExplicitAny: the record, for tests to look into
type Usage = any
const read = async ({ key }: TestAccount): Promise<Usage> => (await api.request('GET', '/api/usage', { key })).body
const send = ({ key, domain }: TestAccount, fields: object = {}) =>
  api.request('POST', '/api/emails', { key, body: { from: `a@${domain}`, to: 'b@b.com', subject: 'Hi', ...fields } })
const HOUR = 3_600_000

async function openAccount(plan: { day: number | null; month: number | null; credits: number }): Promise<TestAccount> {
  const account = await newAccount(world)
  const { day: emails_per_day, month: emails_per_month } = plan
  await givePlan(world, account, { emails_per_day, emails_per_month, domains: 4, ai_credits: 10 })
  await query('UPDATE account_usage SET credits = $1 WHERE account_id = $2', [plan.credits, account.id])
  return account
}

t.test('canceled emails do not count, with a quota and without', async t => {
  for (const day of [50, null]) {
    const account = await openAccount({ day, month: null, credits: 0 })
    const { body } = await send(account, { scheduled_at: new Date(Date.now() + HOUR).toISOString() })
    t.equal((await read(account)).emails.daily.used, 1)
    await api.request('POST', `/api/emails/${body.id}/cancel`, { key: account.key })
    shows(t, (await read(account)).emails, { daily: { used: 0, sent: 0 }, monthly: { used: 0, sent: 0 } })
  }
})

t.test('GET /usage shows both windows, credits, AI credits and what the account has', async t => {
  const account = await openAccount({ day: 50, month: 4, credits: 7 })
  const { usage } = new Resend(account.key, { baseUrl: `${api.url}/api` })
  t.match((await usage.get()).data, {
    object: 'usage',
    emails: {
      daily: { used: 0, limit: 50, sent: 0, received: 0, next_increase_at: null },
      monthly: { used: 0, limit: 4, sent: 0, received: 0 },
    },
    ai_credits: { used: 0, limit: 10, next_increase_at: null },
    automation_runs: { used: 0, limit: null },
    contacts: { used: 0, limit: null },
    segments: { used: 1, limit: null },
    broadcasts: { used: 0, limit: null },
    domains: { used: 1, limit: 4 },
    rate_limit: { limit: 1000, duration: '1m' },
  })

  await createDraft(api, account)
  t.strictSame((await read(account)).broadcasts, { used: 1, limit: null })

  await send(account, { to: ['b@b.com', 'c@b.com'], cc: ['x@example.com'] })
  const { id } = (await send(account, { scheduled_at: 'in 1 hour', to: ['d@b.com', 'e@b.com', 'f@b.com'] })).body
  await receive(openWork(t, world), account, await compose({ text: 'x' }))
  await takeAiCredit(world.pool, { account_id: account.id, id: uuid() })
  const { emails, credits, ai_credits } = await read(account)
  t.match(emails.daily, { used: 6, limit: 50, sent: 5, received: 1 })
  t.match(emails.monthly, { used: 4, limit: 4, sent: 4, received: 0 }, 'the rest was paid by credits')
  t.same(credits, { remaining: 5 })
  t.match(ai_credits, { used: 1, limit: 10 })
  const near = (time: string, ms: number, spare: number) => {
    const off = Date.parse(time) - Date.now() - ms
    t.ok(off > -5_000 && off < spare + 5_000, `${time} is ${off} ms off`)
  }
  near(emails.daily.resets_at, 24 * HOUR, 60_000)
  near(emails.monthly.resets_at, 30 * 24 * HOUR, HOUR)
  near(ai_credits.next_increase_at, 30 * 24 * HOUR, HOUR)
  t.equal(emails.daily.next_increase_at, emails.daily.resets_at)

  await api.request('POST', `/api/emails/${id}/cancel`, { key: account.key })
  t.match((await read(account)).emails.daily, { used: 3, sent: 2, received: 1 }, 'a cancel gives back')
})

t.test('emails that leave a window no longer count as used', async t => {
  const account = await openAccount({ day: 10, month: 10, credits: 0 })
  await send(account, { to: ['b@b.com', 'c@b.com'] })
  await query("UPDATE usage_minutes SET minute = minute - interval '23 hours' WHERE account_id = $1", [account.id])
  await query("UPDATE emails SET created_at = created_at - interval '23 hours' WHERE account_id = $1", [account.id])
  await send(account)
  const { daily } = (await read(account)).emails
  t.match(daily, { used: 3, sent: 3, received: 0 })
  t.ok(Date.parse(daily.next_increase_at) < Date.now() + 2 * HOUR, 'the first two')
  t.ok(Date.parse(daily.resets_at) > Date.now() + 23 * HOUR, 'all')
  await query("UPDATE usage_minutes SET minute = minute - interval '2 hours' WHERE account_id = $1", [account.id])
  t.match((await read(account)).emails.daily, { used: 1, sent: 1 })
})

t.test('GET /usage counts an account without a quota too', async t => {
  const account = await newAccount(world)
  const second = { account_id: account.id, id: uuid(), name: `${uuid()}.com`, status: 'verified' } as const
  await addDomain(world.pool, world.secrets, second)
  await send(account, { to: ['b@b.com', 'c@b.com'], bcc: ['x@example.com'] })
  await receive(openWork(t, world), account, await compose({ text: 'x' }))
  const { emails, ai_credits, domains } = await read(account)
  for (const each of [emails.daily, emails.monthly]) t.match(each, { used: 3, limit: null, sent: 2, received: 1 })
  t.match(ai_credits, { used: 0, limit: null })
  t.match(domains, { used: 2, limit: null })
})

t.test('the usage of one account shows nothing of another', async t => {
  const one = await newAccount(world)
  const other = await openAccount({ day: 50, month: 50, credits: 0 })
  await send(one)
  await createDraft(api, other)
  await send(other, { to: ['b@b.com', 'c@b.com'] })
  await receive(openWork(t, world), other, await compose({ text: 'x' }))
  await takeAiCredit(world.pool, { account_id: other.id, id: uuid() })
  await api.request('POST', '/api/contacts', { key: other.key, body: { email: 'ann@b.com' } })
  await api.request('POST', '/api/segments', { key: other.key, body: { name: 'All' } })
  const second = { account_id: other.id, id: uuid(), name: `${uuid()}.com`, status: 'verified' } as const
  await addDomain(world.pool, world.secrets, second)

  const none = { used: 0, limit: null }
  shows(t, await read(one), {
    emails: { daily: { used: 1, sent: 1, received: 0 }, monthly: { used: 1, sent: 1, received: 0 } },
    ...{ ai_credits: none, automation_runs: none, contacts: none, broadcasts: none },
    ...{ segments: { used: 1, limit: null }, domains: { used: 1, limit: null } },
  })
  shows(t, await read(other), {
    emails: { daily: { used: 3, sent: 2, received: 1 }, monthly: { used: 3, sent: 2, received: 1 } },
    ...{ ai_credits: { used: 1 }, contacts: { used: 1 }, broadcasts: { used: 1 } },
    ...{ segments: { used: 2 }, domains: { used: 2 } },
  })
})
