import t, { type Test } from 'tap'
import { advanceSet } from '#flows/automations/engine/advance_set.ts'
import { newId } from '#lib/ids.ts'
import { lookBack } from '#sql/automations/engine/look_back.ts'
import { ingestEvents } from '#sql/events/contact_events.ts'
import type { Tx } from '#sql/pool.ts'
import { passTime, readRun, startRuns, storeAutomation, type TestStep } from '#test/support/automation_runs.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { eventDraft } from '#test/support/events.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const { pool, log, config } = world

const MARK: TestStep = { key: 'mark', type: 'contact_update', config: { last_name: { var: 'event.n' } } }
const LATE: TestStep = { key: 'late', type: 'contact_update', config: { last_name: 'late' } }
const WAIT: TestStep = { key: 'wait', type: 'wait_for_event', config: { event_name: 'order.paid', timeout: '1 day' } }

let people = 0

/** A run that waits for `order.paid` after the given steps. The last name of the contact shows which branch it took. */
async function openWait(t: Test, before: TestStep[] = [], wait = WAIT) {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, [`p${++people}@b.com`])) as [string]
  const ways = before.map(({ key, type }) => key ?? type)
  const automation = await storeAutomation(world, account, [...before, wait, MARK, LATE], {
    connections: [
      ...['start', ...ways].map((from, n): [string, string] => [from, ways[n] ?? 'wait']),
      ['wait', 'mark', 'event_received'],
      ['wait', 'late', 'timeout'],
    ],
  })
  const [id] = (await startRuns(world, account, automation, [contact])) as [string]
  const work = openWork(t, world, 'capture')
  return {
    ...{ account, contact, id, work },
    advance: () => work.automations.advance(),
    send: async (n: number, db: Pick<Tx, 'any'> = pool) => {
      const [ingestion] = await ingestEvents(db as Tx, [eventDraft(account, contact, 'order.paid', { n })])
      if (ingestion?.outcome !== 'stored') throw new Error(ingestion?.outcome)
    },
    lastName: async () =>
      (await pool.pg.query('SELECT last_name FROM contacts WHERE id = $1', [contact])).rows[0].last_name,
  }
}

t.test('an event before the wait is found', async t => {
  const run = await openWait(t, [{ type: 'delay', config: { duration: '1 hour' } }])
  await run.advance()
  await run.send(1)
  await passTime(world, run.id, '1 hour')
  await run.advance()
  shows(t, await readRun(world, run.id), { status: 'completed', event: { n: 1 } })
  t.equal(await run.lastName(), '1')
})

t.test('an event after the start of the wait wakes the run', async t => {
  const run = await openWait(t)
  await run.advance()
  shows(t, await readRun(world, run.id), { status: 'running', wait_event: 'order.paid' })
  await run.send(2)
  await run.advance()
  shows(t, await readRun(world, run.id), {
    status: 'completed',
    steps: [
      { seq: 1, step: 1, status: 'completed', error: null },
      { seq: 2, step: 2, status: 'completed', output: null, error: null },
    ],
  })
  t.equal(await run.lastName(), '2')
})

t.test('an event sent while the run begins to wait is found', async t => {
  const run = await openWait(t)
  const advancing = await begin(world, tx => advanceSet(tx, { log, config }, 1_000, () => {}))
  const sending = run.send(3)
  await untilBlocked(world)
  await advancing.commit()
  await sending
  await run.advance()
  t.equal(await run.lastName(), '3')
})

t.test('a run locked by an event is skipped, and finds the event later', async t => {
  const run = await openWait(t)
  const sending = await begin(world, tx => run.send(4, tx))
  await run.advance()
  shows(t, await readRun(world, run.id), { status: 'running', seq: 0 })
  await sending.commit()
  await run.advance()
  t.equal(await run.lastName(), '4')
})

t.test('a timeout and an event at the same moment take one branch', async t => {
  const late = await openWait(t)
  await late.advance()
  await passTime(world, late.id, '1 day')
  const advancing = await begin(world, tx => advanceSet(tx, { log, config }, 1_000, () => {}))
  const sending = late.send(5)
  await untilBlocked(world)
  await advancing.commit()
  await sending
  await late.advance()
  t.equal(await late.lastName(), 'late')
  shows(t, await readRun(world, late.id), { status: 'completed', seq: 2 })

  const early = await openWait(t)
  await early.advance()
  await passTime(world, early.id, '1 day')
  const event = await begin(world, tx => early.send(6, tx))
  await early.advance()
  shows(t, await readRun(world, early.id), { status: 'running', seq: 1 })
  await event.commit()
  await early.advance()
  t.equal(await early.lastName(), '6')
  shows(t, await readRun(world, early.id), { status: 'completed', seq: 2 })
})

t.test('a wait ends at its timeout', async t => {
  const run = await openWait(t)
  await run.advance()
  await passTime(world, run.id, '23 hours')
  await run.advance()
  shows(t, await readRun(world, run.id), { status: 'running', seq: 1 })
  await passTime(world, run.id, '1 hour')
  await run.advance()
  t.equal(await run.lastName(), 'late')
})

t.test('the event that starts a run does not end its wait for the next one of the same name', async t => {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['repeats@b.com'])) as [string]
  await storeAutomation(world, account, [{ ...WAIT, config: { event_name: 'order.paid' } }], { trigger: 'order.paid' })
  const work = openWork(t, world, 'capture')
  const states: object[] = []
  for (const n of [1, 2]) {
    await ingestEvents(pool, [eventDraft(account, contact, 'order.paid', { n })])
    await work.automations.advance()
    const query = 'SELECT status, event FROM automation_runs WHERE account_id = $1 ORDER BY id'
    states.push((await pool.pg.query(query, [account.id])).rows)
  }
  const waiting = { status: 'running', event: null }
  t.strictSame(states, [[waiting], [{ status: 'completed', event: { n: 2 } }, waiting]])
})

t.test('a wait finds events that came during the wait before it', async t => {
  const filter_rule = { type: 'rule', field: 'event.n', operator: 'eq', value: 2 }
  const first = { key: 'first', type: 'wait_for_event', config: { event_name: 'first', filter_rule } }
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['early@b.com'])) as [string]
  const automation = await storeAutomation(world, account, [first, { ...WAIT, config: { event_name: 'order.paid' } }])
  const [id] = (await startRuns(world, account, automation, [contact])) as [string]
  const work = openWork(t, world, 'capture')
  await work.automations.advance()
  for (const [name, n] of [
    ['order.paid', 0],
    ['first', 1], // the run looks at it, and goes on waiting
    ['first', 2],
  ] as const) {
    await ingestEvents(pool, [eventDraft(account, contact, name, { n })])
    await work.automations.advance()
  }
  shows(t, await readRun(world, id), { status: 'completed', event: { n: 0 } })
})

t.test('each event is consumed once', async t => {
  const first = { key: 'first', type: 'wait_for_event', config: { event_name: 'order.paid' } }
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['twice@b.com'])) as [string]
  const automation = await storeAutomation(world, account, [first, WAIT, MARK], {
    connections: [
      ['start', 'first'],
      ['first', 'wait', 'event_received'],
      ['wait', 'mark', 'event_received'],
    ],
  })
  const [id] = (await startRuns(world, account, automation, [contact])) as [string]
  const work = openWork(t, world, 'capture')
  const send = (n: number) => ingestEvents(pool, [eventDraft(account, contact, 'order.paid', { n })])
  await send(1)
  await work.automations.advance()
  const waiting = await readRun(world, id)
  shows(t, waiting, { status: 'running', step: 2, event: { n: 1 }, wait_event: 'order.paid' })
  t.equal(waiting.consumed.length, 1)
  await send(2)
  await work.automations.advance()
  shows(t, await readRun(world, id), { status: 'completed', event: { n: 2 } })
})

t.test('events that do not match the filter are skipped', async t => {
  const filter_rule = { type: 'rule', field: 'event.n', operator: 'gte', value: 10 }
  const run = await openWait(t, [], { ...WAIT, config: { ...WAIT.config, filter_rule } })
  await run.send(7)
  await run.advance()
  await run.send(8)
  await run.advance()
  const waiting = await readRun(world, run.id)
  shows(t, waiting, { status: 'running', seq: 1 })
  t.equal(waiting.due_at.getTime(), waiting.wait_until.getTime(), 'it is due at the timeout again')
  await run.send(11)
  await run.advance()
  t.equal(await run.lastName(), '11')
})

t.test('a wait without a timeout has no due time', async t => {
  const run = await openWait(t, [], { ...WAIT, config: { event_name: 'order.paid' } })
  await run.advance()
  shows(t, await readRun(world, run.id), { status: 'running', wait_until: null, due_at: Number.POSITIVE_INFINITY })
  await run.send(9)
  await run.advance()
  t.equal(await run.lastName(), '9')
})

t.test('more events than one read returns are read in turn', async t => {
  const filter_rule = { type: 'rule', field: 'event.n', operator: 'eq', value: 'last' }
  const run = await openWait(t, [], { ...WAIT, config: { ...WAIT.config, filter_rule } })
  await pool.pg.query(
    `INSERT INTO contact_events (account_id, id, domain_id, contact_id, name, payload)
     SELECT $1, ordered_id(id_time(clock_timestamp()), n, random_tail()), $2, $3, 'order.paid',
       jsonb_build_object('n', CASE n WHEN 2500 THEN 'last' ELSE 'other' END) FROM generate_series(1, 2500) AS n`,
    [run.account.id, run.account.domain_id, run.contact],
  )
  for (let n = 0; n < 11; n++) await run.advance()
  t.equal(await run.lastName(), 'last')
})

t.test('an event that a run has looked at is not read again', async t => {
  const filter_rule = { type: 'rule', field: 'event.n', operator: 'gte', value: 10 }
  const run = await openWait(t, [], { ...WAIT, config: { ...WAIT.config, filter_rule } })
  await run.send(1)
  await run.advance()
  await run.send(2)
  const waiting = { account_id: run.account.id, run_id: run.id, name: 'order.paid', is_first: false, consumed: [] }
  const rows = await pool.transaction(tx => lookBack(tx, [waiting]))
  shows(t, rows, [{ payload: { n: 2 }, is_last: true }])
  await run.advance()
  t.strictSame(await pool.transaction(tx => lookBack(tx, [waiting])), [])

  // An event gets a lower id than the last one if the clock of Postgres was set back.
  await pool.pg.query('UPDATE automation_runs SET seen_event = $2 WHERE id = $1', [run.id, `f${newId().slice(1)}`])
  await run.send(11)
  await run.advance()
  t.equal(await run.lastName(), '11')
})

t.test('many runs that wait for large events of one contact read a few megabytes at a time', async t => {
  const filter_rule = { type: 'rule', field: 'event.text', operator: 'contains', value: 'no such text' }
  const run = await openWait(t, [], { ...WAIT, config: { ...WAIT.config, filter_rule } })
  const { automation_id } = await readRun(world, run.id)
  const ids = [run.id, ...(await startRuns(world, run.account, automation_id, Array(39).fill(run.contact)))]
  const text = 'x'.repeat(60_000)
  const drafts = Array.from({ length: 20 }, () => eventDraft(run.account, run.contact, 'order.paid', { text }))
  await ingestEvents(pool, drafts)
  const waiting = ids.map(run_id => ({
    ...{ account_id: run.account.id, run_id, name: 'order.paid', is_first: true, consumed: [] },
  }))
  const other = await openWait(t)
  await other.send(1)
  const last_in_line = { ...waiting[0], account_id: other.account.id, run_id: other.id } as (typeof waiting)[0]
  const rows = await pool.transaction(tx => lookBack(tx, [...waiting, last_in_line]))
  t.equal(new Set(rows.map(({ run_id }) => run_id)).size, ids.length + 1, 'each run learns that there are events')
  const read = Map.groupBy(
    rows.filter(({ payload }) => payload !== null),
    ({ run_id }) => run_id,
  )
  // 8 events are 512 KB, and 8 runs of them 4 MB.
  const counts = [...read].map(([run_id, events]) => `${run_id === other.id ? 'other' : 'same'} ${events.length}`)
  t.strictSame(counts.sort(), ['other 1', ...Array(8).fill('same 8')])

  // 800 reads of an event, at most 64 per pass.
  const isDone = async () => (await readRuns(ids)).every(({ due_at }) => due_at > new Date())
  for (let passes = 0; passes < 60 && !(await isDone()); passes++) await run.advance()
  const [last] = (
    await pool.pg.query('SELECT max(id::text) AS id FROM contact_events WHERE contact_id = $1', [run.contact])
  ).rows
  shows(t, await readRuns(ids), Array(40).fill({ status: 'running', wait_event: 'order.paid', seen_event: last.id }))
  t.ok(await isDone())
})

async function readRuns(ids: string[]) {
  return (await pool.pg.query('SELECT * FROM automation_runs WHERE id = ANY ($1)', [ids])).rows
}
