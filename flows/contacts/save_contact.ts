import { storedValues } from '#lib/contacts/stored_values.ts'
import { orNotFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { type ConsentOrigin, insertConsents } from '#sql/contacts/consents.ts'
import { announceContacts, type UpsertedContact, upsertContacts } from '#sql/contacts/contact_changes.ts'
import { type Contact, findContact } from '#sql/contacts/contacts.ts'
import { listStoredProperties } from '#sql/contacts/properties.ts'
import { emitContactEvents } from '#sql/events/emit_contact_events.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { type ContactFields, toGivenContact } from './given_contact.ts'
import { type ContactPlace, type Groups, joinGroups, requireGroups } from './join_groups.ts'
import { writeContacts } from './write_contacts.ts'

export type SavedContact = { is_new: boolean; contact: Contact }

/**
 * Adds a contact, or changes the one with the same address on the domain. A contact that has unsubscribed is subscribed
 * again only by `unsubscribed: false`.
 *
 * @throws {ApiError} 404, `validation_error`, `contacts_busy`, `contacts_timeout`
 */
export async function saveContact(
  pool: Pool,
  place: ContactPlace,
  given: ContactFields & Groups & { email: string },
  origin: ConsentOrigin,
): Promise<SavedContact> {
  return writeContacts(pool, place, async tx => {
    const { id, outcome } = await storeContact(tx, place, given, origin)
    const contact = orNotFound('Contact', await findContact(tx, place.account_id, { id }))
    return { is_new: outcome === 'created', contact }
  })
}

/** As `saveContact`, in a transaction of `writeContacts`. `source`: origin of a new contact. */
export async function storeContact(
  tx: Tx,
  place: ContactPlace,
  given: ContactFields & Groups & { email: string },
  origin: ConsentOrigin,
  source: 'api' | 'event' = 'api',
): Promise<UpsertedContact> {
  const { account_id } = place
  await requireGroups(tx, place, given)
  const properties = given.properties && storedValues(given.properties, await listStoredProperties(tx, account_id))
  const row = toGivenContact(newId(), given, properties ?? null)
  const options = { ...place, on_conflict: 'upsert', may_resubscribe: true, source } as const
  const [saved] = (await upsertContacts(tx, [row], { ...options, source_id: origin.source_id })) as [UpsertedContact]
  const joined = await joinGroups(tx, place, given, [saved.id], origin)
  await noteConsents(tx, place, [saved], origin)
  await announceSaved(tx, account_id, [saved], joined)
  await triggerAutomations(tx, account_id, [saved])
  return saved
}

/** Tells webhooks which contacts are new, and which were changed or joined a group. */
export async function announceSaved(
  tx: Tx,
  account_id: string,
  saved: UpsertedContact[],
  joined: Set<string>,
): Promise<void> {
  const created = idsOf(saved, ({ outcome }) => outcome === 'created')
  const updated = idsOf(saved, ({ id, outcome }) => outcome === 'updated' || (outcome !== 'created' && joined.has(id)))
  await announceContacts(tx, account_id, 'contact.created', created)
  await announceContacts(tx, account_id, 'contact.updated', updated)
}

/** Starts the automations of contacts that are new or have unsubscribed. */
export async function triggerAutomations(tx: Tx, account_id: string, saved: UpsertedContact[]): Promise<void> {
  const created = idsOf(saved, ({ outcome }) => outcome === 'created')
  const gone = idsOf(saved, ({ unsubscribed, was_unsubscribed }) => unsubscribed && was_unsubscribed === false)
  await emitContactEvents(tx, account_id, 'contact.created', created)
  await emitContactEvents(tx, account_id, 'contact.unsubscribed', gone)
}

function idsOf(saved: UpsertedContact[], isMeant: (contact: UpsertedContact) => boolean): string[] {
  return saved.filter(isMeant).map(({ id }) => id)
}

/** Records a consent for each contact that has unsubscribed or subscribed. */
export async function noteConsents(
  tx: Tx,
  place: ContactPlace,
  saved: UpsertedContact[],
  origin: ConsentOrigin,
): Promise<void> {
  const changed = saved.filter(({ unsubscribed, was_unsubscribed }) => unsubscribed !== (was_unsubscribed ?? false))
  const consents = changed.map(({ email, unsubscribed }) => ({
    ...{ email, topic_id: null },
    subscription: unsubscribed ? ('opt_out' as const) : ('opt_in' as const),
  }))
  await insertConsents(tx, place, consents, origin)
}
