import {
  findFormerContacts,
  forgetFormerRecipients,
  type Person,
  type RecipientPlace,
} from '#sql/erasure/former_contacts.ts'
import { forgetEventsOfContact } from '#sql/events/contact_events.ts'
import type { Pool } from '#sql/pool.ts'

/** Rows per statement: an account may have millions, and each is compared with the address. */
const ROWS = 50_000

/**
 * Erases what is left of deleted contacts that had an address: their events, their runs of automations, and the address in
 * the recipients of campaigns. Their ids are found in the runs and the recipients.
 */
export async function forgetFormerContacts(pool: Pool, person: Person): Promise<void> {
  for (let last: string | null = null; ; ) {
    const found = await findFormerContacts(pool, person, last, ROWS)
    await forgetContacts(pool, person, found.contact_ids)
    last = found.last
    if (last === null) break
  }
  for (let last: RecipientPlace | null = null; ; ) {
    const found = await forgetFormerRecipients(pool, person, last, ROWS)
    await forgetContacts(pool, person, found.contact_ids)
    last = found.last
    if (last === null) return
  }
}

async function forgetContacts(pool: Pool, { account_id }: Person, ids: string[]): Promise<void> {
  for (const id of ids) await pool.transaction(tx => forgetEventsOfContact(tx, account_id, id))
}
