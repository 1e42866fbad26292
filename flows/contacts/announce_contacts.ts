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
  let byId: Promise<Map<string, object>> | undefined
  const data = async (id: string) => {
    byId ??= listContactEvents(tx, account_id, ids).then(events => new Map(events.map(event => [event.id, event])))
    return (await byId).get(id) as object
  }
  await announce(
    tx,
    ids.map(id => ({ account_id, type, data: () => data(id) })),
  )
}
