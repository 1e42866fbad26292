import t from 'tap'
import { clearRuns } from '#flows/automations/definitions/clear_runs.ts'
import { stopAutomation } from '#flows/automations/definitions/stop_automation.ts'
import { createIngestEvent } from '#flows/events/ingest_together.ts'
import { ingestEvents } from '#sql/events/contact_events.ts'
import { sql } from '#sql/pool.ts'
import { storeAutomation, waitFor } from '#test/support/automation_runs.ts'
import { letWait, runsOf } from '#test/support/automations.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { eventDraft } from '#test/support/events.ts'
import { shows } from '#test/support/shows.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)

const ingest = createIngestEvent(pool)

let people = 0

async function addContact(): Promise<string> {
  const [id] = await addContacts(world, account, [`p${++people}@b.com`])
  return id as string
}

async function versionsOf(automation: string): Promise<{ version: number; stopped_version: number }> {
  const { rows } = await pool.pg.query('SELECT version, stopped_version FROM automations WHERE id = $1', [automation])
  return rows[0]
}

t.test('an event wakes a run that waits for it', async t => {
  const automation = await storeAutomation(world, account, [waitFor('paid')], { trigger: 'started' })
  const [contact, other] = [await addContact(), await addContact()]
  await ingest(eventDraft(account, contact, 'started'))
  const [run] = await runsOf(world, automation)
  const isDue = async () => (await runsOf(world, automation))[0]?.is_due
  await letWait(world, run?.id as string, 'paid')
  await ingest(eventDraft(account, contact, 'viewed'))
  await ingest(eventDraft(account, other, 'paid'))
  t.equal(await isDue(), false)
  await ingest(eventDraft(account, contact, 'paid'))
  t.equal(await isDue(), true)
})

t.test('an event waits for the commit of the event that starts its run', async t => {
  const automation = await storeAutomation(world, account, [waitFor('paid')], { trigger: 'ordered' })
  const contact = await addContact()
  const starting = await begin(world, tx => ingestEvents(tx, [eventDraft(account, contact, 'ordered')]))
  const arriving = ingest(eventDraft(account, contact, 'paid'))
  await untilBlocked(world)
  await starting.commit()
  const { answer } = await arriving
  const [run] = await runsOf(world, automation)
  t.ok(run && answer && answer.id > run.since_event, 'its id has the time of its commit')
})

t.test('a stop waits for an event that starts a run, then ends it', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'entered' })
  const draft = eventDraft(account, await addContact(), 'entered')
  const entering = await begin(world, tx => ingestEvents(tx, [draft]))
  const stopping = stopAutomation(pool, { account_id: account.id, id: automation })
  await untilBlocked(world)
  await entering.commit()
  await stopping
  t.strictSame(await versionsOf(automation), { version: 2, stopped_version: 1 })
  await clearRuns(pool)
  shows(t, await runsOf(world, automation), [{ status: 'skipped' }])
})

t.test('an event waits for a stop, and starts no run', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'left' })
  const contact = await addContact()
  await ingest(eventDraft(account, contact, 'left'))
  // Blocks the last statement of the stop, after it has removed the trigger.
  const holding = await begin(world, tx => tx.run(sql.unsafe`LOCK TABLE automation_clearings`))
  const stopping = stopAutomation(pool, { account_id: account.id, id: automation })
  await untilBlocked(world, '%INTO automation_clearings%')
  const arriving = ingest(eventDraft(account, contact, 'left'))
  await untilBlocked(world, '%ingest_events%')
  await holding.commit()
  await stopping
  shows(t, await arriving, { outcome: 'stored', answer: { enrolled: 0 } })
  t.strictSame(await versionsOf(automation), { version: 2, stopped_version: 1 })
  await clearRuns(pool)
  shows(t, await runsOf(world, automation), [{ status: 'skipped' }])
})

t.test('transactions that store events do not wait for each other', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'together' })
  const [one, other] = [await addContact(), await addContact()]
  const first = await begin(world, tx => ingestEvents(tx, [eventDraft(account, one, 'together')]))
  const second = await begin(world, async tx => {
    await tx.run(sql.unsafe`SET LOCAL lock_timeout = '5s'`)
    await ingestEvents(tx, [eventDraft(account, other, 'together')])
  })
  await Promise.all([first.commit(), second.commit()])
  t.equal((await runsOf(world, automation)).length, 2)
})

t.test('an event whose run is locked waits without delaying others', async t => {
  const automation = await storeAutomation(world, account, [waitFor('seen')], { trigger: 'began' })
  const [busy, other] = [await addContact(), await addContact()]
  await ingest(eventDraft(account, busy, 'began'))
  const [run] = await runsOf(world, automation)
  await letWait(world, run?.id as string, 'seen')
  const worker = await begin(world, tx =>
    tx.run(sql.unsafe`SELECT FROM automation_runs WHERE id = ${run?.id as string} FOR NO KEY UPDATE`),
  )
  const waiting = ingest(eventDraft(account, busy, 'seen'))
  const together = ingest(eventDraft(account, other, 'began'))
  shows(t, await together, { outcome: 'stored', answer: { enrolled: 1 } })
  await untilBlocked(world)
  shows(t, await ingest(eventDraft(account, other, 'seen')), { outcome: 'stored' })
  await worker.commit()
  shows(t, await waiting, { outcome: 'stored', answer: { contact_id: busy } })
  shows(t, (await runsOf(world, automation))[0], { is_due: true })
})

t.test('an event of a contact or domain that is being deleted is not stored', async t => {
  const other = await addOtherDomain(world, account)
  const [there] = (await addContacts(world, { ...account, domain_id: other.id }, ['there@b.com'])) as [string]
  const here = await addContact()
  for (const [draft, deletion] of [
    [eventDraft(account, here, 'late'), sql.unsafe`DELETE FROM contacts WHERE id = ${here}`],
    [
      eventDraft({ ...account, domain_id: other.id }, there, 'late'),
      sql.unsafe`DELETE FROM domains WHERE id = ${other.id}`,
    ],
  ] as const) {
    const deleting = await begin(world, tx => tx.run(deletion))
    const arriving = ingest(draft)
    await Promise.race([arriving, untilBlocked(world, '%ingest_events%')])
    await deleting.commit()
    shows(t, await arriving, { outcome: 'no_contact', answer: null })
  }
})

t.test('events named contact.created by a caller keep to ten runs a day', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'contact.created' })
  const contact = await addContact()
  const drafts = (count: number) => Array.from({ length: count }, () => eventDraft(account, contact, 'contact.created'))
  const first = await begin(world, tx => ingestEvents(tx, drafts(8)))
  const second = ingestEvents(pool, drafts(8))
  await Promise.race([second, untilBlocked(world)])
  await first.commit()
  await second
  t.equal((await runsOf(world, automation)).length, 10)
})
