import { insertConsents } from '#sql/contacts/consents.ts'
import { announceContacts, lockContact } from '#sql/contacts/contact_changes.ts'
import { isToBeUnsubscribed, setUnsubscribed } from '#sql/contacts/preferences/choices.ts'
import { emitContactEvents } from '#sql/events/emit_contact_events.ts'
import type { Pool } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'

const ORIGIN = { how: 'soft_bounces', source_id: null, client_address: null } as const

/**
 * Unsubscribes a contact if its mail still bounces (sql/campaigns/sending/soft_bounces.sql). Returns true if that changed
 * anything. May run twice.
 */
export async function unsubscribeUnreachable(
  pool: Pool,
  contact: { account_id: string; id: string },
): Promise<boolean> {
  const unsubscribe = () =>
    pool.transaction(async tx => {
      const { account_id, id } = contact
      const locked = await lockContact(tx, account_id, { id })
      if (!locked || !(await isToBeUnsubscribed(tx, contact))) return false
      await setUnsubscribed(tx, contact, true)
      const consent = { email: locked.email, topic_id: null, subscription: 'opt_out' } as const
      await insertConsents(tx, { account_id, domain_id: locked.domain_id }, [consent], ORIGIN)
      await announceContacts(tx, account_id, 'contact.updated', [id])
      await emitContactEvents(tx, account_id, 'contact.unsubscribed', [id])
      return true
    })
  return retryConflicts(unsubscribe)
}
