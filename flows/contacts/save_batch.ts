import type { UncheckedBatch } from '#lib/contacts/contact_batch.ts'
import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import {
  countInOwnShard,
  type GivenContact,
  limitStatements,
  type UpsertedContact,
  upsertContacts,
} from '#sql/contacts/contact_changes.ts'
import { listStoredProperties } from '#sql/contacts/properties.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { type BatchFault, checkBatch } from './check_batch.ts'
import { type ContactPlace, chooseTopics, joinGroups, requireGroups } from './join_groups.ts'
import { announceSaved, noteConsents, triggerAutomations } from './save_contact.ts'
import { contactsTimeout, writeContacts } from './write_contacts.ts'

/**
 * Maximum numbers of contacts and of characters of their JSON per statement: no statement takes long enough to need its own
 * timeout.
 */
const SLICE = 1_000
const SLICE_LENGTH = 500_000

export type SavedBatch = {
  counts: { total: number; created: number; updated: number; skipped: number; failed: number }
  /** In the order of the request, each address once. `skipped`: fields that were not applied. */
  contacts: { id: string; email: string; skipped?: 'unsubscribed'[] }[]
  faults: BatchFault[]
}

/**
 * Adds or changes the contacts of a batch in one transaction; invalid ones are left out. Of equal addresses the last
 * wins, but an opt-out in any of them counts. A contact that has unsubscribed is subscribed again only with
 * `resubscribe`.
 *
 * @param max_ms longest time that it may take once it has the lock
 * @throws {ApiError} 404, `contacts_busy`, `contacts_timeout`
 */
export async function saveBatch(
  pool: Pool,
  place: ContactPlace,
  { contacts: items, ...batch }: UncheckedBatch,
  origin: ConsentOrigin,
  max_ms: number,
): Promise<SavedBatch> {
  const properties = await listStoredProperties(pool, place.account_id)
  const { contacts, faults, skipped } = await checkBatch(items, properties, batch.resubscribe)
  const saved = await writeContacts(pool, place, async tx => {
    await requireGroups(tx, place, batch)
    await countInOwnShard(tx)
    return storeSlices(tx, place, contacts, batch, { origin, until: performance.now() + max_ms })
  })
  const byAddress = new Map(saved.map(contact => [contact.email, contact]))
  const count = (...outcomes: UpsertedContact['outcome'][]) =>
    saved.filter(({ outcome }) => outcomes.includes(outcome)).length
  return {
    counts: {
      ...{ total: items.length, created: count('created'), updated: count('updated', 'unchanged') },
      ...{ skipped: skipped + count('skipped'), failed: faults.length },
    },
    contacts: contacts.map(given => shownContact(given, byAddress.get(given.email) as UpsertedContact)),
    faults,
  }
}

function shownContact({ unsubscribed: given }: GivenContact, { id, email, unsubscribed, outcome }: UpsertedContact) {
  const isKept = given === false && unsubscribed && outcome !== 'skipped'
  return { id, email, ...(isKept && { skipped: ['unsubscribed' as const] }) }
}

type Terms = { origin: ConsentOrigin; until: number }

async function storeSlices(
  tx: Tx,
  place: ContactPlace,
  contacts: GivenContact[],
  batch: Omit<UncheckedBatch, 'contacts'>,
  { origin, until }: Terms,
): Promise<UpsertedContact[]> {
  const { on_conflict, resubscribe: may_resubscribe } = batch
  const options = { ...place, on_conflict, may_resubscribe, source: 'api' as const, source_id: origin.source_id }
  const saved: UpsertedContact[] = []
  for (const slice of slicesOf(contacts)) {
    const left = until - performance.now()
    if (left <= 0) throw contactsTimeout()
    await limitStatements(tx, left)
    const upserted = await upsertContacts(tx, slice, options)
    const ids = upserted.map(({ id }) => id)
    const joined = await joinGroups(tx, place, { segments: batch.segments }, ids, origin)
    const changed = upserted.filter(({ outcome }) => outcome !== 'skipped').map(({ id }) => id)
    await chooseTopics(tx, place, batch.topics, changed, { origin, may_opt_in: may_resubscribe })
    await noteConsents(tx, place, upserted, origin)
    await announceSaved(tx, place.account_id, upserted, joined)
    if (batch.trigger_automations) await triggerAutomations(tx, place.account_id, upserted)
    saved.push(...upserted)
  }
  return saved
}

/** Sorts contacts by address: two batches in different order would deadlock. */
function* slicesOf(contacts: GivenContact[]): Generator<GivenContact[]> {
  let slice: GivenContact[] = []
  let length = 0
  for (const contact of contacts.toSorted((a, b) => (a.email < b.email ? -1 : 1))) {
    slice.push(contact)
    length += JSON.stringify(contact).length
    if (slice.length < SLICE && length < SLICE_LENGTH) continue
    yield slice
    slice = []
    length = 0
  }
  if (slice.length > 0) yield slice
}
