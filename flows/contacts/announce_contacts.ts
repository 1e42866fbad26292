import { announce } from '#flows/webhooks/announce.ts'
import { listContactEvents } from '#sql/contacts/contact_events.ts'
import type { Tx } from '#sql/pool.ts'

type ContactEventType = 'contact.created' | 'contact.updated' | 'contact.deleted'

/** Tells webhooks of contacts as they are at this moment, so call it before they are deleted. */
export async function announceContacts(
  tx: Tx,
  account_id: string,
  type: ContactEventType,
  ids: string[],
): Promise<void> {
  let events: ReturnType<typeof listContactEvents> | undefined
  const data = async (id: string) => {
    events ??= listContactEvents(tx, account_id, ids) // of all of them, when the first is heard
    return (await events).find(event => event.id === id) as object
  }
  await announce(
    tx,
    ids.map(id => ({ account_id, type, data: () => data(id) })),
  )
}
