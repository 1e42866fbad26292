import t from 'tap'
import { newId } from '#lib/ids.ts'
import { ingestEvents } from '#sql/events/contact_events.ts'
import { emitContactEvents } from '#sql/events/emit_contact_events.ts'
import { startRunByHand } from '#sql/events/enter_by_hand.ts'
import { report_limited_runs } from '#tasks/report_limited_runs.ts'
import { startApi } from '#test/support/api.ts'
import { storeAutomation } from '#test/support/automation_runs.ts'
import { limitedOf, runsOf } from '#test/support/automations.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { givePlan } from '#test/support/database/states.ts'
import { eventDraft } from '#test/support/events.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addOtherDomain, newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const api = await startApi(t, world, '')

type Sent = { status: number; body: { enrolled?: number; name?: string } }

async function send(account: TestAccount, event: string, email: string): Promise<Sent> {
  const body = { event, email, domain: account.domain }
  return api.request('POST', '/api/events/send', { key: account.key, body }) as unknown as Promise<Sent>
}

/** Creates an account with contacts and a plan of `runs` automation runs. */
async function openAccount(contacts: string[], runs: number | null = null): Promise<TestAccount & { ids: string[] }> {
  const account = await newAccount(world)
  await givePlan(world, account, { automation_runs: runs })
  return { ...account, ids: await addContacts(world, account, contacts) }
}

const usageOf = async ({ key }: TestAccount) => {
  const { body } = await api.request('GET', '/api/usage', { key })
  return (body as unknown as { automation_runs: object }).automation_runs
}
const enrolled = (answers: Sent[]) => answers.map(({ status, body }) => (status === 202 ? body.enrolled : body.name))

t.test('`reentry` decides how many runs a contact gets', async t => {
  const account = await openAccount(['ann@b.com'])
  const once = await storeAutomation(world, account, [], { reentry: 'once' })
  const oneRunning = await storeAutomation(world, account, [], { reentry: 'while_not_running' })
  const always = await storeAutomation(world, account, [], { reentry: 'always' })
  await storeAutomation(world, account, [], { status: 'disabled' })
  // Concurrently, so that they share a commit.
  const answers = await Promise.all([1, 2, 3].map(() => send(account, 'signed.up', 'ann@b.com')))
  t.strictSame(enrolled(answers).sort(), [1, 1, 3])
  await pg.query(`UPDATE automation_runs SET status = 'completed', due_at = NULL WHERE account_id = $1`, [account.id])
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), [2])
  const counts = await Promise.all([once, oneRunning, always].map(async id => (await runsOf(world, id)).length))
  t.strictSame(counts, [1, 2, 4])
  const { rowCount } = await pg.query(`SELECT FROM graphile_worker.jobs WHERE task_identifier = 'advance_runs'`)
  t.ok(rowCount, 'a worker gets a job for them')
})

t.test('an event starts only automations of its domain', async t => {
  const account = await openAccount(['ann@b.com'])
  const other = await addOtherDomain(world, account)
  const there = await storeAutomation(world, { id: account.id, domain_id: other.id })
  const foreign = await storeAutomation(world, await openAccount([]))
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), [0])
  const body = { event: 'signed.up', contact_id: account.ids[0], domain: other.name }
  const answer = await api.request('POST', '/api/events/send', { key: account.key, body })
  shows(t, answer, { status: 404, body: { message: 'Contact not found' } })
  t.strictSame([await runsOf(world, there), await runsOf(world, foreign)], [[], []])
})

t.test('a contact starts at most ten runs of an automation a day', async t => {
  const account = await openAccount(['ann@b.com', 'bob@b.com'])
  const automation = await storeAutomation(world, account)
  const answers = await Promise.all(Array.from({ length: 25 }, () => send(account, 'signed.up', 'ann@b.com')))
  t.strictSame(
    answers.reduce((sum, { body }) => sum + (body.enrolled ?? NaN), 0),
    10,
  )
  t.strictSame([(await runsOf(world, automation)).length, await limitedOf(world, automation)], [10, 15])
  t.strictSame(enrolled([await send(account, 'signed.up', 'bob@b.com')]), [1])
})

t.test('runs of the last 24 hours count for the limit of ten runs a day', async t => {
  const account = await openAccount(['ann@b.com'])
  const automation = await storeAutomation(world, account)
  for (let n = 0; n < 10; n++) await send(account, 'signed.up', 'ann@b.com')
  // The id of a run has the time of its start.
  const startedAgo = (hours: number) =>
    pg.query(
      `UPDATE automation_runs r SET id = ordered_id(id_time(now() - make_interval(hours => $2)), n, random_tail())
       FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM automation_runs WHERE automation_id = $1) o WHERE r.id = o.id`,
      [automation, hours],
    )
  await startedAgo(23)
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), [0])
  await startedAgo(25)
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), [1])
})

t.test('two processes share the limit of ten runs', async t => {
  const account = await openAccount(['ann@b.com'])
  const automation = await storeAutomation(world, account)
  const second = await startApi(t, world, account.key)
  const body = { event: 'signed.up', email: 'ann@b.com', domain: account.domain }
  const apis = [second, await startApi(t, world, account.key)]
  await Promise.all(Array.from({ length: 24 }, (_, n) => apis[n % 2]?.request('POST', '/api/events/send', { body })))
  t.strictSame([(await runsOf(world, automation)).length, await limitedOf(world, automation)], [10, 14])
})

t.test('an event that exceeds the quota of runs is refused and not stored', async t => {
  const account = await openAccount(['ann@b.com', 'bob@b.com', 'cid@b.com'], 3)
  await Promise.all([1, 2].map(() => storeAutomation(world, account)))
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), [2])
  const refused = await send(account, 'signed.up', 'bob@b.com')
  shows(t, refused, {
    status: 429,
    body: {
      name: 'automation_quota_exceeded',
      message:
        'The event would start more automation runs than your plan has left in these 30 days. Nothing was stored.',
    },
  })
  t.strictSame(enrolled([await send(account, 'signed.up', 'new@b.com')]), ['automation_quota_exceeded'])
  const found = await api.request('GET', `/api/contacts/new@b.com?domain=${account.domain}`, { key: account.key })
  shows(t, found, { status: 404 })
  t.strictSame(enrolled([await send(account, 'nothing', 'bob@b.com')]), [0], 'the refused event costs no quota')
  const { rows } = await pg.query('SELECT name FROM contact_events WHERE account_id = $1 ORDER BY id', [account.id])
  t.strictSame(rows, [{ name: 'signed.up' }, { name: 'nothing' }])
  shows(t, await usageOf(account), { used: 2, limit: 3, resets_at: /Z$/ })
  await storeAutomation(world, account, [], { trigger: 'one' })
  t.strictSame(enrolled([await send(account, 'one', 'bob@b.com'), await send(account, 'one', 'bob@b.com')]), [
    1,
    'automation_quota_exceeded',
  ])
})

t.test('the quota of runs is exact for concurrent events', async t => {
  const people = Array.from({ length: 12 }, (_, n) => `p${n}@b.com`)
  const account = await openAccount(people, 5)
  const automation = await storeAutomation(world, account)
  const apis = await Promise.all([1, 2, 3].map(() => startApi(t, world, account.key)))
  const answers = await Promise.all(
    people.map((email, n) => {
      const body = { event: 'signed.up', email, domain: account.domain }
      return apis[n % 3]?.request('POST', '/api/events/send', { body })
    }),
  )
  t.strictSame(answers.map(answer => answer?.status).sort(), [...Array(5).fill(202), ...Array(7).fill(429)])
  t.equal((await runsOf(world, automation)).length, 5)
  shows(t, await usageOf(account), { used: 5, limit: 5 })
})

t.test('events of one commit are stored if they fit the quota', async t => {
  const account = await openAccount(['ann@b.com', 'bob@b.com', 'cid@b.com'], 2)
  const once = await storeAutomation(world, account, [], { trigger: 'a', reentry: 'once' })
  for (const _ of [1, 2]) await storeAutomation(world, account, [], { trigger: 'a' })
  await storeAutomation(world, account, [], { trigger: 'b' })
  // The first event of a process is stored alone; those that wait behind it are stored together, in order.
  const first = send(account, 'nothing', 'ann@b.com')
  const rest = [send(account, 'a', 'ann@b.com'), send(account, 'b', 'bob@b.com'), send(account, 'b', 'cid@b.com')]
  t.strictSame(enrolled(await Promise.all([first, ...rest])), [0, 'automation_quota_exceeded', 1, 1])
  t.strictSame(await runsOf(world, once), [])
})

t.test('an event that is refused for its contact leaves its part of the quota to other contacts', async t => {
  const account = await openAccount(['ann@b.com', 'bob@b.com'], 2)
  const once = await storeAutomation(world, account, [], { trigger: 'a', reentry: 'once' })
  for (const _ of [1, 2]) await storeAutomation(world, account, [], { trigger: 'a' })
  const last = await storeAutomation(world, account, [], { trigger: 'b' })
  const [ann, bob] = account.ids as [string, string]
  // The second event needs two runs behind the first, and three without it.
  const drafts = [eventDraft(account, ann, 'a'), eventDraft(account, ann, 'a'), eventDraft(account, bob, 'b')]
  const outcomes = (await ingestEvents(world.pool, drafts)).map(({ outcome }) => outcome)
  t.strictSame(outcomes, ['quota', 'quota', 'stored'])
  t.strictSame([(await runsOf(world, once)).length, (await runsOf(world, last)).length], [0, 1])
})

t.test('runs count toward the quota for 30 days', async t => {
  const account = await openAccount(['ann@b.com'], 1)
  await storeAutomation(world, account)
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), [1])
  const age = (days: number) =>
    pg.query('UPDATE automation_usage SET hour = hour - make_interval(days => $2) WHERE account_id = $1', [
      ...[account.id, days],
    ])
  await age(29)
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), ['automation_quota_exceeded'])
  await age(2)
  t.strictSame(enrolled([await send(account, 'signed.up', 'ann@b.com')]), [1])
})

t.test('runs of an account without a quota are counted too', async t => {
  const account = await openAccount(['ann@b.com'])
  await storeAutomation(world, account)
  await send(account, 'signed.up', 'ann@b.com')
  shows(t, await usageOf(account), { used: 1, limit: null })
})

t.test('our own events over the quota of runs are counted and reported', async t => {
  const account = await openAccount(['ann@b.com', 'bob@b.com', 'cid@b.com'], 1)
  const automation = await storeAutomation(world, account, [], { trigger: 'contact.created' })
  const emit = () => world.pool.transaction(tx => emitContactEvents(tx, account.id, 'contact.created', account.ids))
  await emit()
  t.strictSame([(await runsOf(world, automation)).length, await limitedOf(world, automation)], [1, 2])
  await emit()
  t.strictSame([(await runsOf(world, automation)).length, await limitedOf(world, automation)], [1, 5])
  await pg.query(`UPDATE automation_usage SET hour = hour - interval '1 hour' WHERE account_id = $1`, [account.id])
  const lines: object[] = []
  const log = { ...world.log, warn: (line: object) => lines.push(line) } as typeof world.log
  await report_limited_runs({}, { ...openWork(t, world), log })
  t.strictSame(lines, [{ account_id: account.id, limited: 5 }])
})

t.test('our own events use the quota of their account only for runs that start', async t => {
  const [poor, other] = [await openAccount(['ann@b.com', 'bob@b.com'], 11), await openAccount(['cid@b.com'], 1)]
  const [automation, there] = [
    await storeAutomation(world, poor, [], { trigger: 'contact.created' }),
    await storeAutomation(world, other, [], { trigger: 'contact.created' }),
  ]
  const [ann, bob] = poor.ids as [string, string]
  for (let n = 0; n < 10; n++) {
    await world.pool.transaction(tx => emitContactEvents(tx, poor.id, 'contact.created', [ann]))
  }
  await pg.query(
    `SELECT tell_automations(array_agg(ROW(0, account_id, domain_id, id, 'contact.created', '{}', 0, NULL, NULL, NULL)::new_event
       ORDER BY email)) FROM contacts WHERE id = ANY ($1)`,
    [[ann, bob, ...other.ids]],
  )
  t.strictSame(
    (await runsOf(world, automation)).map(({ contact_email }) => contact_email),
    [...Array(10).fill('ann@b.com'), 'bob@b.com'],
  )
  t.equal(await limitedOf(world, automation), 1, 'the daily limit of one contact')
  shows(t, await runsOf(world, there), [{ contact_email: 'cid@b.com' }])
})

t.test('events caused by a run are one level deeper, up to four', async t => {
  const account = await openAccount(['ann@b.com'])
  const own = await storeAutomation(world, account, [], { trigger: 'contact.unsubscribed' })
  const other = await storeAutomation(world, account, [], { trigger: 'contact.unsubscribed' })
  for (const depth of [0, 3, 4, 7]) {
    const run = { automation_id: own, depth }
    await world.pool.transaction(tx => emitContactEvents(tx, account.id, 'contact.unsubscribed', account.ids, run))
  }
  t.strictSame(
    (await runsOf(world, other)).map(({ depth }) => depth),
    [1, 4],
  )
  t.strictSame(await runsOf(world, own), [], 'an automation does not start itself')
  t.equal(await limitedOf(world, other), 2)
})

t.test('a run by hand has the same limits', async t => {
  const account = await openAccount(['ann@b.com', 'bob@b.com', 'cid@b.com'], 2)
  const automation = await storeAutomation(world, account, [], { reentry: 'once' })
  const disabled = await storeAutomation(world, account, [], { status: 'disabled' })
  const enter = (automation_id: string, contact_id: string | undefined) =>
    world.pool.transaction(tx =>
      startRunByHand(tx, {
        account_id: account.id,
        automation_id,
        contact_id: contact_id as string,
        payload: { n: 1 },
      }),
    )
  const [ann, bob, cid] = account.ids
  const { outcome, run_id } = await enter(automation, ann)
  t.equal(outcome, 'started')
  shows(t, await runsOf(world, automation), [{ id: run_id, payload: { n: 1 }, contact_email: 'ann@b.com' }])
  t.strictSame(await enter(automation, ann), { outcome: 'entered', run_id: null })
  t.strictSame(await enter(disabled, ann), { outcome: 'disabled', run_id: null })
  t.strictSame(await enter(automation, newId()), { outcome: 'no_contact', run_id: null })
  const together = await Promise.all([enter(automation, bob), enter(automation, cid)])
  t.strictSame(together.map(each => each.outcome).sort(), ['quota', 'started'])
  await givePlan(world, account, { automation_runs: null })
  const always = await storeAutomation(world, account)
  for (let n = 0; n < 10; n++) await enter(always, ann)
  t.strictSame(await enter(always, ann), { outcome: 'limit', run_id: null })
})
