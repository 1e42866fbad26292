import type pg from 'pg'
import t, { type Test } from 'tap'
import { createIngestEvent } from '#flows/events/ingest_together.ts'
import { newId } from '#lib/ids.ts'
import type { EventDraft } from '#sql/events/contact_events.ts'
import { letWait, makeAutomation, runsOf } from '#test/support/automations.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

/** Each ingests in commits of its own, as the processes of a server do. */
const ingest = createIngestEvent(world.pool)
const ingestElsewhere = createIngestEvent(world.pool)

function draftOf(contact_id: string, name: string): EventDraft {
  return {
    ...{ account_id: account.id, domain_id: account.domain_id, contact_id, email: null, name, payload: {} },
    ...{ tail: newId().replaceAll('-', '').slice(-16), is_refused: false, route: null, key: null, fingerprint: null },
  }
}

/** A run of an automation that waits for `paid`, which has not come to its wait yet. */
async function startRun() {
  const automation = await makeAutomation(world, account, { trigger: `start ${newId()}`, waits: ['paid'] })
  const [contact] = (await addContacts(world, account, [`${newId()}@b.com`])) as [string]
  const { rows } = await world.pool.pg.query('SELECT event FROM automation_triggers WHERE automation_id = $1', [
    automation,
  ])
  await ingest(draftOf(contact, rows[0].event))
  const run = async () => (await runsOf(world, automation))[0] as { id: string; is_due: boolean; since_event: string }
  return { contact, trigger: rows[0].event as string, automation, run, id: (await run()).id }
}

/** A worker's transaction: it holds a run as advance_runs does. Rolled back at the end of the test. */
async function openWorker(t: Test): Promise<pg.PoolClient> {
  const client = await world.pool.pg.connect()
  await client.query('BEGIN')
  t.teardown(async () => {
    await client.query('ROLLBACK')
    client.release()
  })
  return client
}

const CLAIM = `SELECT id FROM automation_runs WHERE id = $1 AND status = 'running' FOR UPDATE SKIP LOCKED`
const LOOK_BACK = `SELECT e.id FROM contact_events e JOIN automation_runs r ON r.contact_id = e.contact_id AND r.id = $1
  WHERE e.name = 'paid' AND e.id > r.since_event ORDER BY e.id`
const WAIT = `UPDATE automation_runs SET step = 1, wait_event = 'paid', due_at = now() + interval '1 day' WHERE id = $1`

/** Waits until so many statements wait for a lock. */
const waiting = (count: number) =>
  waitUntil(
    async () =>
      (
        await world.pool.pg.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
      ).rowCount === count,
    `${count} statements wait for a lock`,
  )

t.test('an event wakes a run that waits for it', async t => {
  const { contact, id, run } = await startRun()
  await letWait(world, id, 'paid')
  await ingest(draftOf(contact, 'viewed'))
  t.notOk((await run()).is_due)
  await ingest(draftOf((await startRun()).contact, 'paid'))
  t.notOk((await run()).is_due, 'of another contact')
  await ingest(draftOf(contact, 'paid'))
  t.ok((await run()).is_due)
})

t.test('an event that is committed before the run looks is found', async t => {
  const { contact, id } = await startRun()
  const { answer } = await ingest(draftOf(contact, 'paid'))
  const worker = await openWorker(t)
  t.strictSame((await worker.query(CLAIM, [id])).rowCount, 1)
  t.strictSame((await worker.query(LOOK_BACK, [id])).rows, [{ id: answer?.id }])
})

t.test('an event that arrives while a worker has the run waits for it and wakes it', async t => {
  const { contact, id, run } = await startRun()
  const worker = await openWorker(t)
  await worker.query(CLAIM, [id])
  t.strictSame((await worker.query(LOOK_BACK, [id])).rows, [])
  const arriving = ingest(draftOf(contact, 'paid'))
  await waiting(1)
  await worker.query(WAIT, [id])
  await worker.query('COMMIT')
  await arriving
  t.ok((await run()).is_due)
})

t.test('a worker passes by a run while an event of it is being stored', async t => {
  const { contact, id } = await startRun()
  await letWait(world, id, 'paid')
  const event = await openWorker(t)
  await event.query('SELECT * FROM ingest_events($1)', [JSON.stringify([{ position: 0, ...draftOf(contact, 'paid') }])])
  const worker = await openWorker(t)
  t.strictSame((await worker.query(CLAIM, [id])).rowCount, 0)
  await event.query('COMMIT')
  t.strictSame((await worker.query(CLAIM, [id])).rowCount, 1)
  t.strictSame((await worker.query(LOOK_BACK, [id])).rowCount, 1)
})

t.test('an event waits for the one that starts the run which waits for it', async t => {
  const automation = await makeAutomation(world, account, { trigger: 'ordered', waits: ['paid'] })
  const [contact] = (await addContacts(world, account, ['both@b.com'])) as [string]
  const starting = await openWorker(t)
  const given = JSON.stringify([{ position: 0, ...draftOf(contact, 'ordered') }])
  await starting.query('SELECT * FROM ingest_events($1)', [given])
  const arriving = ingestElsewhere(draftOf(contact, 'paid'))
  await waiting(1)
  await starting.query('COMMIT')
  const { answer } = await arriving
  const [run] = await runsOf(world, automation)
  t.ok(run && answer && answer.id > run.since_event, 'its id is of the time of its commit')
})
