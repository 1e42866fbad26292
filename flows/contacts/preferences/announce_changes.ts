import { announceTopics } from '#flows/contacts/join_groups.ts'
import type { Subscription } from '#lib/contacts/new_contact.ts'
import type { UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { announceContacts } from '#sql/contacts/contact_changes.ts'
import { insertUnsubscribedEvent } from '#sql/contacts/preferences/choices.ts'
import type { Person, Preferences } from '#sql/contacts/preferences/preferences.ts'
import { emitContactEvents } from '#sql/events/emit_contact_events.ts'
import type { Tx } from '#sql/pool.ts'
import { announceEmails } from '#sql/sending/announce_emails.ts'

/** `topic_id` null: everything. */
export type Change = { topic_id: string | null; subscription: Subscription }

/** Tells webhooks and automations what a contact has changed. */
export async function announceContactChanges(
  tx: Tx,
  person: Person,
  { contact_id }: Preferences,
  changes: Change[],
): Promise<void> {
  if (contact_id === null) return
  const { account_id, address } = person
  const everything = changes.find(({ topic_id }) => topic_id === null)
  if (everything) await announceContacts(tx, account_id, 'contact.updated', [contact_id])
  if (everything?.subscription === 'opt_out')
    await emitContactEvents(tx, account_id, 'contact.unsubscribed', [contact_id])
  const topics = changes.flatMap(({ topic_id, subscription }) =>
    topic_id === null ? [] : [{ contact_id, email: address, topic_id, subscription }],
  )
  await announceTopics(tx, account_id, topics)
}

/** Stores the opt-outs as events of the email, and tells webhooks. */
export async function announceEmailOptOuts(
  tx: Tx,
  { account_id, email_id, address }: UnsubscribeToken,
  { contact_id }: Preferences,
  changes: Change[],
): Promise<void> {
  for (const { topic_id, subscription } of changes) {
    if (subscription === 'opt_in') continue
    await insertUnsubscribedEvent(tx, { account_id, email_id }, { address, contact_id, topic_id })
    const more = { contact_id, topic_id }
    await announceEmails(tx, [{ account_id, email_id, type: 'unsubscribed', recipients: [address], more }])
  }
}
