import { forgetRecipient } from '#sql/contacts/leftovers.ts'
import { deleteFormerContact, listFormerContacts, type Person } from '#sql/erasure/former_contacts.ts'
import { forgetEventsOfContact } from '#sql/events/contact_events.ts'
import type { Pool } from '#sql/pool.ts'

/**
 * Erases what is left of deleted contacts that had an address: their events, their runs of automations, and the address in
 * the recipients of campaigns.
 */
export async function forgetFormerContacts(pool: Pool, person: Person): Promise<void> {
  const { account_id } = person
  for (const id of await listFormerContacts(pool, person)) {
    await pool.transaction(async tx => {
      await forgetRecipient(tx, account_id, id)
      await forgetEventsOfContact(tx, account_id, id)
      await deleteFormerContact(tx, person, id)
    })
  }
}
