import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import {
  announceContacts,
  deleteContact,
  type LockedContact,
  removeFromAudience,
} from '#sql/contacts/contact_changes.ts'
import type { ContactRef } from '#sql/contacts/contacts.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import type { ContactFields } from './given_contact.ts'
import { storeContact } from './save_contact.ts'
import { writeContact } from './write_contacts.ts'

type Named = { account_id: string; ref: ContactRef }

/**
 * Changes the given fields of a contact; returns its id. Properties are merged into its existing ones.
 *
 * @throws {ApiError} 404, `validation_error`, `contacts_busy`, `contacts_timeout`
 */
export async function changeContact(
  pool: Pool,
  { account_id, ref }: Named,
  fields: ContactFields,
  origin: ConsentOrigin,
): Promise<string> {
  return writeContact(pool, account_id, ref, async (tx, { id, domain_id, email }) => {
    await storeContact(tx, { account_id, domain_id, audience_id: null }, { ...fields, email }, origin)
    return id
  })
}

/**
 * Deletes a contact; returns its id. Its opt-outs are kept, and apply if it is created again.
 *
 * @throws {ApiError} 404, `contacts_busy`, `contacts_timeout`
 */
export async function removeContact(pool: Pool, { account_id, ref }: Named): Promise<string> {
  return writeContact(pool, account_id, ref, (tx, contact) => removeRow(tx, account_id, contact))
}

/**
 * Removes a contact from an audience; returns its id. It stays a contact of the domain, unless the audience is the
 * default one: then it is deleted.
 *
 * @throws {ApiError} 404, `contacts_busy`, `contacts_timeout`
 */
export async function leaveAudience(
  pool: Pool,
  { account_id, ref }: { account_id: string; ref: ContactRef & { audience_id: string } },
): Promise<string> {
  return writeContact(pool, account_id, ref, async (tx, contact) => {
    if (ref.audience_id === contact.domain_id) return removeRow(tx, account_id, contact)
    await removeFromAudience(tx, account_id, ref.audience_id, contact.id)
    await announceContacts(tx, account_id, 'contact.updated', [contact.id])
    return contact.id
  })
}

async function removeRow(tx: Tx, account_id: string, { id }: LockedContact): Promise<string> {
  await announceContacts(tx, account_id, 'contact.deleted', [id])
  await deleteContact(tx, account_id, id)
  return id
}
