import { toGivenContact } from '#flows/contacts/given_contact.ts'
import { noteConsents } from '#flows/contacts/save_contact.ts'
import type { Answer } from '#lib/automations/evaluate/requests.ts'
import { StepError } from '#lib/automations/evaluate/step_error.ts'
import { storedValues } from '#lib/contacts/stored_values.ts'
import { ApiError } from '#lib/errors.ts'
import {
  blockSegmentDeletions,
  changeMembers,
  deleteContacts,
  tryContactLocks,
  tryLockContacts,
} from '#sql/automations/engine/contacts.ts'
import { announceContacts, type GivenContact, upsertContacts } from '#sql/contacts/contact_changes.ts'
import type { Tx } from '#sql/pool.ts'
import type { ActiveRun, RequestingRun, SharedState } from './active_run.ts'
import { readRunContacts } from './read_contacts.ts'

const BUSY: Answer = { kind: 'busy' }
const DONE: Answer = { kind: 'done' }

/** Updates the contacts of runs, as PATCH /contacts/:id does. */
export async function updateContacts(
  shared: SharedState,
  requesting: RequestingRun<'update'>[],
): Promise<(Answer | Error)[]> {
  const { tx, properties } = shared
  const free = await lockOwnContacts(tx, requesting, false)
  const contacts = await readRunContacts(tx, idsOf(requesting), properties)
  const given = new Map<ActiveRun, GivenContact | Error>()
  for (const activeRun of requesting) {
    const contact = contacts.get(activeRun.run.contact_id)
    if (contact && free.has(contact.id)) given.set(activeRun, givenContact(shared, activeRun, contact))
  }
  const places = Map.groupBy(requesting, ({ run }) => `${run.account_id} ${run.domain_id} ${run.automation_id}`)
  for (const activeRuns of places.values()) {
    const rows = activeRuns
      .map(activeRun => given.get(activeRun))
      .filter(row => row !== undefined && !(row instanceof Error))
    const gone = rows.length > 0 ? await writeRows(tx, activeRuns[0] as ActiveRun, rows as GivenContact[]) : new Set()
    shared.unsubscribed.push(...activeRuns.map(({ run }) => run).filter(({ contact_id }) => gone.has(contact_id)))
  }
  const after = await readRunContacts(tx, idsOf(requesting), properties)
  return requesting.map(activeRun => {
    const row = given.get(activeRun)
    if (row instanceof Error) return row
    const contact = after.get(activeRun.run.contact_id)
    return row && contact ? { kind: 'done', contact } : BUSY
  })
}

function givenContact(
  { properties }: SharedState,
  { run, request: { update } }: RequestingRun<'update'>,
  { id, email }: { id: string; email: string },
): GivenContact | Error {
  const { first_name, last_name, unsubscribed } = update
  const fields = { email, first_name, last_name, unsubscribed, do_not_track: null, properties: null }
  try {
    const values = update.properties && storedValues(update.properties, properties.get(run.account_id) ?? [])
    return toGivenContact(id, fields, values ?? null)
  } catch (error) {
    if (error instanceof ApiError) return new StepError(error.name, error.message)
    throw error
  }
}

/** Writes the rows; returns the ids of the contacts that this unsubscribed. */
async function writeRows(tx: Tx, { run }: ActiveRun, rows: GivenContact[]): Promise<Set<string>> {
  const place = { account_id: run.account_id, domain_id: run.domain_id, audience_id: null }
  const options = { ...place, on_conflict: 'upsert', may_resubscribe: true, source: 'api', source_id: null } as const
  const saved = await upsertContacts(tx, rows, options)
  const origin = { how: 'automation', source_id: run.automation_id, client_address: null } as const
  await noteConsents(tx, place, saved, origin)
  const updated = saved.filter(({ outcome }) => outcome === 'updated').map(({ id }) => id)
  await announceContacts(tx, run.account_id, 'contact.updated', updated)
  return new Set(saved.filter(one => one.unsubscribed && one.was_unsubscribed === false).map(({ id }) => id))
}

/** Adds contacts to segments as if by hand, or removes contacts that were added by hand. */
export async function changeMemberships(
  { tx }: SharedState,
  requesting: RequestingRun<'segment'>[],
): Promise<(Answer | Error)[]> {
  const free = await lockOwnContacts(tx, requesting, false)
  const wanted = requesting.map(({ run: { account_id, domain_id }, request: { segment_id } }) => ({
    ...{ account_id, domain_id, segment_id },
  }))
  const kept = new Set(await blockSegmentDeletions(tx, wanted))
  const changing = requesting.filter(({ run, request }) => free.has(run.contact_id) && kept.has(request.segment_id))
  const changed = await changeMembers(
    tx,
    changing.map(({ run: { account_id, contact_id }, request: { segment_id, is_member } }) => ({
      ...{ account_id, contact_id, segment_id, is_member },
    })),
  )
  for (const [account_id, rows] of Map.groupBy(changed, row => row.account_id)) {
    const ids = rows.map(({ contact_id }) => contact_id)
    await announceContacts(tx, account_id, 'contact.updated', ids)
  }
  return requesting.map(({ run, request }) => {
    if (!kept.has(request.segment_id)) return new StepError('not_found', 'The segment was deleted.')
    return free.has(run.contact_id) ? DONE : BUSY
  })
}

/** Deletes the contacts of runs, as DELETE /contacts/:id does: their opt-outs stay, their other runs end. */
export async function deleteOwnContacts(
  { tx, deleted }: SharedState,
  requesting: RequestingRun<'delete'>[],
): Promise<Answer[]> {
  const free = await lockOwnContacts(tx, requesting, true)
  const deleting = requesting.filter(({ run }) => free.has(run.contact_id))
  for (const [account_id, activeRuns] of Map.groupBy(deleting, ({ run }) => run.account_id)) {
    const ids = activeRuns.map(({ run }) => run.contact_id)
    await announceContacts(tx, account_id, 'contact.deleted', ids)
    await deleteContacts(tx, account_id, ids)
    for (const id of ids) deleted.add(id)
  }
  return requesting.map(({ run }) => (free.has(run.contact_id) ? DONE : BUSY))
}

/**
 * Takes the locks that writers of contacts take, but waits for none of them: this transaction holds runs, for which
 * such a writer may wait. Returns the ids of the contacts that it has locked.
 */
async function lockOwnContacts(tx: Tx, requesting: ActiveRun[], is_deleted: boolean): Promise<Set<string>> {
  const accounts = [...new Set(requesting.map(({ run }) => run.account_id))]
  const free = new Set(await tryContactLocks(tx, accounts))
  const ids = idsOf(requesting).filter(({ account_id }) => free.has(account_id))
  return new Set(await tryLockContacts(tx, ids, is_deleted))
}

function idsOf(activeRuns: ActiveRun[]) {
  return activeRuns.map(({ run: { account_id, contact_id } }) => ({ account_id, contact_id }))
}
