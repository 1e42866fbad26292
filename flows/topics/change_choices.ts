import { joinGroups, requireGroups } from '#flows/contacts/join_groups.ts'
import { writeContact } from '#flows/contacts/write_contacts.ts'
import type { TopicChoice } from '#lib/contacts/new_contact.ts'
import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import type { ContactRef } from '#sql/contacts/contacts.ts'
import type { Pool } from '#sql/pool.ts'

/**
 * Stores the choices of a contact about the given topics and leaves other topics unchanged; returns the contact's id.
 *
 * @throws {ApiError} 404 for the contact, or for a topic that contacts of its domain do not have; `contacts_busy`,
 *   `contacts_timeout`
 */
export async function changeChoices(
  pool: Pool,
  { account_id, ref }: { account_id: string; ref: ContactRef },
  topics: TopicChoice[],
  origin: ConsentOrigin,
): Promise<string> {
  return writeContact(pool, account_id, ref, async (tx, { id, domain_id }) => {
    const place = { account_id, domain_id, audience_id: null }
    await requireGroups(tx, place, { topics })
    await joinGroups(tx, place, { topics }, [id], origin)
    return id
  })
}
