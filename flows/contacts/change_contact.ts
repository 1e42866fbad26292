import { orNotFound } from '#lib/errors.ts'
import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import { announceContacts, deleteContact, lockContact, removeFromAudience } from '#sql/contacts/contact_changes.ts'
import { type ContactRef, findContact } from '#sql/contacts/contacts.ts'
import type { Pool } from '#sql/pool.ts'
import type { ContactFields } from './given_contact.ts'
import { storeContact } from './save_contact.ts'
import { writeContacts } from './write_contacts.ts'

type Named = { account_id: string; ref: ContactRef }

/**
 * Changes the given members of a contact; returns its id. Properties are merged into those that it has.
 *
 * @throws {ApiError} 404, `validation_error`, `contacts_busy`, `contacts_timeout`
 */
export async function changeContact(
  pool: Pool,
  { account_id, ref }: Named,
  fields: ContactFields,
  origin: ConsentOrigin,
): Promise<string> {
  const { domain_id } = orNotFound('Contact', await findContact(pool, account_id, ref))
  const place = { account_id, domain_id, audience_id: null }
  return writeContacts(pool, place, async tx => {
    const { id, email } = orNotFound('Contact', await lockContact(tx, account_id, ref))
    await storeContact(tx, place, { ...fields, email }, origin)
    return id
  })
}

/**
 * Deletes a contact; returns its id. Its opt-outs stay: created once more, it has them still.
 *
 * @throws {ApiError} 404, `contacts_busy`, `contacts_timeout`
 */
export async function removeContact(pool: Pool, { account_id, ref }: Named): Promise<string> {
  const { domain_id } = orNotFound('Contact', await findContact(pool, account_id, ref))
  return writeContacts(pool, { account_id, domain_id }, async tx => {
    const { id } = orNotFound('Contact', await lockContact(tx, account_id, ref))
    await announceContacts(tx, account_id, 'contact.deleted', [id])
    await deleteContact(tx, account_id, id)
    return id
  })
}

/**
 * Takes a contact out of an audience; returns its id. It stays a contact of the domain, unless the audience is the default
 * one: then it is deleted.
 *
 * @throws {ApiError} 404, `contacts_busy`, `contacts_timeout`
 */
export async function leaveAudience(
  pool: Pool,
  { account_id, ref }: { account_id: string; ref: ContactRef & { audience_id: string } },
): Promise<string> {
  const { domain_id } = orNotFound('Contact', await findContact(pool, account_id, ref))
  if (ref.audience_id === domain_id) return removeContact(pool, { account_id, ref })
  return writeContacts(pool, { account_id, domain_id }, async tx => {
    const { id } = orNotFound('Contact', await lockContact(tx, account_id, ref))
    await removeFromAudience(tx, account_id, ref.audience_id, id)
    await announceContacts(tx, account_id, 'contact.updated', [id])
    return id
  })
}
