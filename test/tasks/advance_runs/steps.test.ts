import t, { type Test } from 'tap'
import { clearRuns } from '#flows/automations/definitions/clear_runs.ts'
import { stopAutomation } from '#flows/automations/definitions/stop_automation.ts'
import { advanceSet } from '#flows/automations/engine/advance_set.ts'
import { postponeRun } from '#sql/automations/engine/runs.ts'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import {
  readRun,
  startRuns,
  storeAutomation,
  type TestConnection,
  type TestStep,
} from '#test/support/automation_runs.ts'
import { runsOf } from '#test/support/automations.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { subscribe, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { addOtherDomain, newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const { pool } = world

type Options = { payload?: object; connections?: TestConnection[]; contact?: object; account?: TestAccount }

let people = 0

/** Takes a new contact through steps that do not wait. */
async function run(t: Test, steps: TestStep[], { payload = {}, connections, contact = {}, ...options }: Options = {}) {
  const account = options.account ?? (await newAccount(world))
  const [contact_id] = (await addContacts(world, account, [{ email: `p${++people}@b.com`, ...contact }])) as [string]
  const automation_id = await storeAutomation(world, account, steps, connections ? { connections } : {})
  const [id] = (await startRuns(world, account, automation_id, [contact_id], payload)) as [string]
  await openWork(t, world, 'capture').automations.advance()
  return { account, contact_id, automation_id, ...(await readRun(world, id)) }
}

const contactOf = async (id: string) => (await pool.pg.query('SELECT * FROM contacts WHERE id = $1', [id])).rows[0]
const last_name = (value: string): TestStep => ({ key: value, type: 'contact_update', config: { last_name: value } })

async function addProperty(account: TestAccount, key: string, type = 'string'): Promise<void> {
  await pool.pg.query(
    `INSERT INTO contact_properties (account_id, id, key, stored_as, type) VALUES ($1, gen_random_uuid(), $2, $2, $3)`,
    [account.id, key, type],
  )
}

t.test('a condition leads to one of two steps', async t => {
  const rule = { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' }
  const steps = [{ key: 'is_pro', type: 'condition', config: rule }, last_name('pro'), last_name('free')]
  const connections: TestConnection[] = [
    ['start', 'is_pro'],
    ['is_pro', 'pro', 'condition_met'],
    ['is_pro', 'free', 'condition_not_met'],
  ]
  for (const plan of ['pro', 'free']) {
    const { contact_id, status, steps: taken } = await run(t, steps, { payload: { plan }, connections })
    t.equal(status, 'completed')
    t.equal((await contactOf(contact_id)).last_name, plan)
    t.equal(taken.length, 2)
  }
})

t.test('a branch without a connection ends the run', async t => {
  const rule = { type: 'rule', field: 'contact.first_name', operator: 'exists' }
  const connections: TestConnection[] = [
    ['start', 'named'],
    ['named', 'x', 'condition_met'],
  ]
  const ended = await run(t, [{ key: 'named', type: 'condition', config: rule }, last_name('x')], { connections })
  shows(t, ended, { status: 'completed', steps: [{ seq: 1, output: { result: 'condition_not_met' } }] })
})

t.test('contact_update writes the given fields, with consents and webhooks', async t => {
  const account = await newAccount(world)
  await addProperty(account, 'plan')
  const api = await startApi(t, world, account.key)
  await api.request('POST', '/api/webhooks', { body: { endpoint: 'https://h.acme.com/', events: ['contact.updated'] } })
  const config = {
    ...{ first_name: { var: 'event.name' }, last_name: null, unsubscribed: true },
    properties: { plan: { var: 'event.plan' } },
  }
  const update = { type: 'contact_update', config }
  const options = { account, payload: { name: 'Ann', plan: 'pro' }, contact: { first_name: 'A' } }
  const { contact_id, automation_id, status } = await run(t, [update, last_name('after')], options)
  t.equal(status, 'completed')
  const contact = { first_name: 'Ann', last_name: 'after', unsubscribed: true, properties: { plan: 'pro' } }
  shows(t, await contactOf(contact_id), contact)
  const consents = 'SELECT how, source_id, subscription FROM contact_consents WHERE account_id = $1'
  shows(t, (await pool.pg.query(consents, [account.id])).rows, [
    { how: 'automation', source_id: automation_id, subscription: 'opt_out' },
  ])
  const events = `SELECT count(*)::int AS count FROM webhook_events WHERE account_id = $1 AND type = 'contact.updated'`
  t.equal((await pool.pg.query(events, [account.id])).rows[0].count, 2)
})

t.test('a deleted property is neither read nor written', async t => {
  const account = await newAccount(world)
  await addProperty(account, 'plan')
  await pool.pg.query('UPDATE contact_properties SET deleted_at = now() WHERE account_id = $1', [account.id])
  const rule = { type: 'rule', field: 'contact.properties.plan', operator: 'exists' }
  const update = { key: 'update', type: 'contact_update', config: { properties: { plan: 'free' } } }
  const connections: TestConnection[] = [
    ['start', 'has_plan'],
    ['has_plan', 'update', 'condition_not_met'],
  ]
  const steps = [{ key: 'has_plan', type: 'condition', config: rule }, update]
  const ended = await run(t, steps, { account, connections, contact: { properties: { plan: 'pro' } } })
  shows(t, ended, { status: 'failed', steps: [{ output: { result: 'condition_not_met' } }, { status: 'failed' }] })
  shows(t, await contactOf(ended.contact_id), { properties: { plan: 'pro' } })
})

t.test('an invalid value fails the run and keeps the steps before it', async t => {
  const account = await newAccount(world)
  await addProperty(account, 'age', 'number')
  const update = { key: 'age', type: 'contact_update', config: { properties: { age: { var: 'event.age' } } } }
  const failed = await run(t, [last_name('kept'), update], { account, payload: { age: 'ten' } })
  const error = 'validation_error: `properties.age` must be a number.'
  shows(t, failed, { status: 'failed', error, steps: [{ status: 'completed' }, { seq: 2, status: 'failed', error }] })
  t.equal((await contactOf(failed.contact_id)).last_name, 'kept')
})

t.test('a step that unsubscribes a contact wakes runs that wait for it', async t => {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['leaves@b.com'])) as [string]
  const waits = await storeAutomation(world, account, [
    { type: 'wait_for_event', config: { event_name: 'contact.unsubscribed' } },
  ])
  const leaves = await storeAutomation(world, account, [{ type: 'contact_update', config: { unsubscribed: true } }])
  // Both runs reach their steps in the same set.
  const [waiting] = (await startRuns(world, account, waits, [contact])) as [string]
  await startRuns(world, account, leaves, [contact])
  const work = openWork(t, world, 'capture')
  await work.automations.advance()
  await work.automations.advance()
  shows(t, await readRun(world, waiting), { status: 'completed', event: { contact_id: contact } })
  const events = 'SELECT name, depth FROM contact_events WHERE account_id = $1'
  t.strictSame((await pool.pg.query(events, [account.id])).rows, [{ name: 'contact.unsubscribed', depth: 1 }])
})

t.test('a step that unsubscribes a contact once more triggers nothing', async t => {
  const account = await newAccount(world)
  const listens = await storeAutomation(world, account, [], { trigger: 'contact.unsubscribed' })
  const leave = { type: 'contact_update', config: { unsubscribed: true } }
  shows(t, await run(t, [leave], { account, contact: { unsubscribed: true } }), { status: 'completed' })
  t.strictSame(await runsOf(world, listens), [])
})

t.test('all contacts unsubscribed by a set of runs trigger automations', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, ['one@b.com', 'two@b.com', 'three@b.com', 'four@b.com'])
  const listens = await storeAutomation(world, account, [], { trigger: 'contact.unsubscribed' })
  const leave = { type: 'contact_update', config: { unsubscribed: true } }
  const [first, second] = [
    await storeAutomation(world, account, [leave]),
    await storeAutomation(world, account, [leave]),
  ]
  await startRuns(world, account, first, contacts.slice(0, 3))
  await startRuns(world, account, second, contacts.slice(3))
  const work = openWork(t, world, 'capture')
  await pool.transaction(tx => advanceSet(tx, work, 1_000, () => {}))
  const runs = await runsOf(world, listens)
  t.strictSame(runs.map(({ contact_email, depth }) => [contact_email, depth]).sort(), [
    ['four@b.com', 1],
    ['one@b.com', 1],
    ['three@b.com', 1],
    ['two@b.com', 1],
  ])
})

t.test('add_to_segment and remove_from_segment change the segments of a contact', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const segment = async (name: string): Promise<string> =>
    (await api.request('POST', '/api/segments', { body: { name, domain: account.domain } })).body.id
  const [first, second] = [await segment('First'), await segment('Second')]
  await subscribe(world, account.id, ['contact.updated'])
  const { contact_id, status } = await run(
    t,
    [
      { key: 'join', type: 'add_to_segment', config: { segment_id: first } },
      { key: 'join_too', type: 'add_to_segment', config: { segment_id: second } },
      { key: 'leave', type: 'remove_from_segment', config: { segment_id: first } },
    ],
    { account },
  )
  t.equal(status, 'completed')
  const query = 'SELECT segment_id FROM segment_members WHERE contact_id = $1'
  t.strictSame((await pool.pg.query(query, [contact_id])).rows, [{ segment_id: second }])
  t.strictSame(
    (await takeEvents(world, account.id)).map(({ type, data }) => [type, data.id]),
    Array(3).fill(['contact.updated', contact_id]),
  )

  await pool.pg.query('DELETE FROM segments WHERE id = $1', [first])
  const join = { type: 'add_to_segment', config: { segment_id: first } }
  const error = 'not_found: The segment was deleted.'
  shows(t, await run(t, [join], { account }), { status: 'failed', error })
  const other = await addOtherDomain(world, account)
  const there = await run(t, [{ ...join, config: { segment_id: second } }], {
    account: { ...account, domain_id: other.id },
  })
  shows(t, there, { status: 'failed', error }, 'of another domain')
})

t.test('contact_delete completes its run and ends the others of the contact', async t => {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, [{ email: 'gone@b.com', unsubscribed: true }])) as [string]
  const [waits, deletes, sends] = [
    await storeAutomation(world, account, [{ type: 'delay', config: { duration: '1 day' } }]),
    await storeAutomation(world, account, [{ type: 'contact_delete' }]),
    await storeAutomation(world, account, [last_name('x'), last_name('y')]),
  ]
  const work = openWork(t, world, 'capture')
  const [waiting] = (await startRuns(world, account, waits, [contact])) as [string]
  await work.automations.advance()
  const [own] = (await startRuns(world, account, deletes, [contact])) as [string]
  const [other] = (await startRuns(world, account, sends, [contact])) as [string]
  await subscribe(world, account.id, ['contact.deleted'])
  await work.automations.advance()
  shows(t, await readRun(world, own), { status: 'completed', error: null, steps: [{ seq: 1, status: 'completed' }] })
  const skipped = { status: 'skipped', error: 'The contact was deleted.' }
  shows(t, await readRun(world, waiting), { ...skipped, steps: [{ seq: 1, status: 'skipped' }] })
  shows(t, await readRun(world, other), skipped)
  t.equal(await contactOf(contact), undefined)
  t.strictSame(
    (await takeEvents(world, account.id)).map(({ data }) => data.id),
    [contact],
  )
  const optouts = 'SELECT count(*)::int AS count FROM contact_optouts WHERE account_id = $1'
  t.equal((await pool.pg.query(optouts, [account.id])).rows[0].count, 1, 'its opt-out stays')
})

t.test('deleting a contact ends its runs in the same commit', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const delay = { type: 'delay', config: { duration: '1 day' } }
  for (const erase of ['', '?erase=true']) {
    const { id, contact_id, automation_id } = await run(t, [delay], { account, payload: { secret: 1 } })
    const [past] = (await startRuns(world, account, automation_id, [contact_id])) as [string]
    await pool.pg.query(`UPDATE automation_runs SET status = 'completed', due_at = NULL WHERE id = $1`, [past])
    t.equal((await api.request('DELETE', `/api/contacts/${contact_id}${erase}`)).status, 200)
    const ended = { status: 'skipped', due_at: null, steps: [{ seq: 1, status: 'skipped' }] }
    shows(t, await readRun(world, id), erase ? { steps: [] } : ended)
    shows(t, await readRun(world, past), erase ? { steps: [] } : { status: 'completed', error: null })
  }
})

t.test('a run whose contact is locked is retried shortly after', async t => {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['busy@b.com'])) as [string]
  const work = openWork(t, world, 'capture')
  for (const [lock, n] of [
    [sql.unsafe`SELECT FROM contacts WHERE id = ${contact} FOR UPDATE`, 1],
    [sql.unsafe`SELECT pg_advisory_xact_lock(hashtextextended('contacts ' || ${account.id}, 0))`, 2], // as an import does
    [sql.unsafe`SELECT FROM domains WHERE id = ${account.domain_id} FOR UPDATE`, 3],
  ] as const) {
    const automation = await storeAutomation(world, account, [last_name(`done_${n}`)])
    const [id] = (await startRuns(world, account, automation, [contact])) as [string]
    const writing = await begin(world, tx => tx.run(lock))
    await work.automations.advance()
    await writing.commit()
    shows(t, await readRun(world, id), { status: 'running', seq: 0, steps: [] })
    await pool.pg.query('UPDATE automation_runs SET due_at = now() WHERE id = $1', [id])
    await work.automations.advance()
    t.equal((await contactOf(contact)).last_name, `done_${n}`)
  }
})

t.test('a run of more than twenty steps continues in the next set', async t => {
  const account = await newAccount(world)
  const rule = { type: 'rule', field: 'contact.email', operator: 'exists' }
  const steps = Array.from({ length: 45 }, (_, n) => ({ key: `c${n}`, type: 'condition', config: rule }))
  const keys = ['start', ...steps.map(({ key }) => key)]
  const connections = steps.map(({ key }, n): TestConnection => {
    return [keys[n] as string, key, n === 0 ? 'default' : 'condition_met']
  })
  const [contact] = (await addContacts(world, account, ['long@b.com'])) as [string]
  const automation = await storeAutomation(world, account, steps, { connections })
  const [id] = (await startRuns(world, account, automation, [contact])) as [string]
  const work = openWork(t, world, 'capture')
  await work.automations.advance()
  shows(t, await readRun(world, id), { status: 'running', seq: 19 })
  await work.automations.advance()
  await work.automations.advance()
  shows(t, await readRun(world, id), { status: 'completed', seq: 45 })
})

t.test('a delay that cannot be computed fails the run', async t => {
  const delay = { type: 'delay', config: { until: { time: '09:00', timezone: 'contact' } } }
  const error = 'validation_error: The contact has no `timezone`, which the delay needs.'
  shows(t, await run(t, [delay, last_name('never')]), { status: 'failed', error, steps: [{ status: 'failed' }] })
})

t.test('runs of a stopped or deleted automation end', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, ['s1@b.com', 's2@b.com'])
  const [stopped, deleted] = [
    await storeAutomation(world, account, [last_name('x')]),
    await storeAutomation(world, account, [last_name('x')]),
  ]
  const [first] = (await startRuns(world, account, stopped, contacts)) as [string]
  const [second] = (await startRuns(world, account, deleted, contacts)) as [string]
  await pool.pg.query('UPDATE automations SET stopped_version = 1 WHERE id = $1', [stopped])
  await pool.pg.query('DELETE FROM automations WHERE id = $1', [deleted])
  await openWork(t, world, 'capture').automations.advance()
  const skipped = { status: 'skipped', error: 'The automation was stopped.', steps: [] }
  for (const id of [first, second]) shows(t, await readRun(world, id), skipped)
})

t.test('stopping waits for steps in progress, and none starts afterwards', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, ['before@b.com', 'after@b.com'])
  const steps = [last_name('x'), { type: 'delay', config: { duration: '1 day' } }]
  const automation = await storeAutomation(world, account, steps)
  const [before] = (await startRuns(world, account, automation, contacts.slice(0, 1))) as [string]
  const work = openWork(t, world, 'capture')
  const advancing = await begin(world, tx => advanceSet(tx, work, 1_000, () => {}))
  const stopping = stopAutomation(pool, { account_id: account.id, id: automation })
  await untilBlocked(world)
  await advancing.commit()
  await stopping
  const [after] = (await startRuns(world, account, automation, contacts.slice(1))) as [string]
  await work.automations.advance()
  await clearRuns(pool)
  const skipped = { status: 'skipped', error: 'The automation was stopped.' }
  shows(t, await readRun(world, before), {
    ...skipped,
    wait_until: null,
    steps: [{ status: 'completed' }, { status: 'skipped' }],
  })
  shows(t, await readRun(world, after), { ...skipped, steps: [] })
})

t.test('a run whose statement fails does not affect others', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(
    world,
    account,
    Array.from({ length: 9 }, (_, n) => `poison${n}@b.com`),
  )
  const automation = await storeAutomation(world, account, [last_name('fine')])
  const ids = await startRuns(world, account, automation, contacts)
  // A statement that fails for one of them, like a bug of ours.
  await pool.pg.query(`CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF new.email = 'poison4@b.com' THEN RAISE division_by_zero; END IF; RETURN new; END $$`)
  await pool.pg.query('CREATE TRIGGER refuse BEFORE UPDATE ON contacts FOR EACH ROW EXECUTE FUNCTION refuse_poison()')
  const work = openWork(t, world, 'capture')
  await work.automations.advance()
  const statuses = await Promise.all(ids.map(async id => (await readRun(world, id)).status))
  t.strictSame(
    statuses,
    ids.map((_, n) => (n === 4 ? 'running' : 'completed')),
  )
  for (let attempt = 1; attempt < 5; attempt++) {
    shows(t, await readRun(world, ids[4] as string), { status: 'running', attempt, steps: [] })
    await pool.pg.query('UPDATE automation_runs SET due_at = now() WHERE id = $1', [ids[4]])
    await work.automations.advance()
  }
  const error = 'internal_server_error: The step could not be taken.'
  shows(t, await readRun(world, ids[4] as string), {
    status: 'failed',
    error,
    steps: [{ seq: 1, status: 'failed', error }],
  })
  await pool.pg.query('DROP TRIGGER refuse ON contacts')
})

t.test('a run whose statement is canceled does not hold up others', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, ['quick1@b.com', 'slow@b.com', 'quick2@b.com'])
  const ids = await startRuns(world, account, await storeAutomation(world, account, [last_name('fine')]), contacts)
  await pool.pg.query(`CREATE FUNCTION cancel_slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF new.email = 'slow@b.com' THEN RAISE query_canceled; END IF; RETURN new; END $$`)
  await pool.pg.query('CREATE TRIGGER cancel BEFORE UPDATE ON contacts FOR EACH ROW EXECUTE FUNCTION cancel_slow()')
  await openWork(t, world, 'capture').automations.advance()
  await pool.pg.query('DROP TRIGGER cancel ON contacts')
  const runs = await Promise.all(ids.map(id => readRun(world, id)))
  shows(t, runs, [{ status: 'completed' }, { status: 'running', attempt: 1 }, { status: 'completed' }])
})

t.test('a run that is given up while it waits fails the step that it waits in', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, ['up1@b.com', 'up2@b.com', 'up3@b.com', 'up4@b.com'])
  const automation = await storeAutomation(world, account, [last_name('x'), last_name('y')])
  const ids = await startRuns(world, account, automation, contacts)
  const waits = [`wait_event = 'x'`, 'wait_until = now()', 'refused_since = now()']
  const end = { seconds: 60, max_attempts: 1, error: 'given up' }
  const failed = { step: 1, status: 'failed', output: null, error: 'given up' }
  for (const [n, id] of ids.entries()) {
    const wait = waits[n] ?? ''
    await pool.pg.query(`UPDATE automation_runs SET step = 1, seq = 1${wait && `, ${wait}`} WHERE id = $1`, [id])
    await pool.pg.query(
      'INSERT INTO automation_run_steps (account_id, run_id, seq, step, status) VALUES ($1, $2, 1, 1, $3)',
      [account.id, id, wait ? 'waiting' : 'completed'],
    )
    await pool.transaction(tx => postponeRun(tx, { account_id: account.id, id }, end))
    const taken = { seq: 1, step: 1, status: 'completed', output: null, error: null }
    t.strictSame((await readRun(world, id)).steps, wait ? [{ seq: 1, ...failed }] : [taken, { seq: 2, ...failed }])
  }
})

t.test('failures of a step do not count for the steps after it', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, ['late@b.com'])
  const delay = { type: 'delay', config: { duration: '1 day' } }
  const automation = await storeAutomation(world, account, [last_name('fine'), delay])
  const [id] = (await startRuns(world, account, automation, contacts)) as [string]
  await pool.pg.query('UPDATE automation_runs SET attempt = 4 WHERE id = $1', [id])
  await openWork(t, world, 'capture').automations.advance()
  shows(t, await readRun(world, id), { status: 'running', attempt: 0 })
})

t.test('many runs of one contact do not hold up the runs of others', async t => {
  const account = await newAccount(world)
  const [busy, other] = (await addContacts(world, account, ['shared@b.com', 'other@b.com'])) as [string, string]
  const automation = await storeAutomation(
    world,
    account,
    Array.from({ length: 15 }, (_, n) => last_name(`x${n}`)),
  )
  const shared = await startRuns(world, account, automation, Array(10).fill(busy))
  const [id] = (await startRuns(world, account, automation, [other])) as [string]
  await openWork(t, world, 'capture').automations.advance()
  t.equal((await readRun(world, id)).status, 'completed')
  const taken = await Promise.all(shared.map(async run_id => (await readRun(world, run_id)).seq))
  t.ok(taken.reduce((sum, seq) => sum + seq, 0) < 60, 'the others continue in a later set')
})

t.test('runs stay due while Postgres has no room', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, ['full1@b.com', 'full2@b.com'])
  const ids = await startRuns(world, account, await storeAutomation(world, account, [last_name('stored')]), contacts)
  await pool.pg.query(`CREATE FUNCTION fill_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE disk_full; END $$`)
  await pool.pg.query('CREATE TRIGGER fill BEFORE UPDATE ON contacts FOR EACH ROW EXECUTE FUNCTION fill_disk()')
  const work = openWork(t, world, 'capture')
  await t.rejects(work.automations.advance(), { code: '53100' })
  await pool.pg.query('DROP TRIGGER fill ON contacts')
  for (const id of ids) shows(t, await readRun(world, id), { status: 'running', attempt: 0 })
  await work.automations.advance()
  for (const id of ids) shows(t, await readRun(world, id), { status: 'completed' })
})
