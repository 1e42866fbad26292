import { announceTopics } from '#flows/contacts/join_groups.ts'
import type { Subscription, TopicChoice } from '#lib/contacts/new_contact.ts'
import type { UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { type ConsentOrigin, insertConsents } from '#sql/contacts/consents.ts'
import { announceContacts, lockContact } from '#sql/contacts/contact_changes.ts'
import { upsertChoices } from '#sql/contacts/memberships.ts'
import {
  deleteOptouts,
  insertOptouts,
  insertUnsubscribedEvent,
  lockEmail,
  reserveAddress,
  setUnsubscribed,
  waitPatiently,
} from '#sql/contacts/preferences/choices.ts'
import { findPreferences, type Person, type Preferences } from '#sql/contacts/preferences/preferences.ts'
import { tellContacts } from '#sql/events/tell_contacts.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { announceEmails } from '#sql/sending/announce_emails.ts'

/** Changes that a person asks for. */
export type Wish = { everything?: Subscription; topics?: TopicChoice[] }

/** `topic_id` null: everything. */
type Change = { topic_id: string | null; subscription: Subscription }

/** Preferences before and after a change. The same object if there was nothing to change. */
export type ChangedPreferences = { before: Preferences; after: Preferences }

/**
 * Stores the preferences of the recipient of an email in one commit with consents, events of the email and webhook
 * events. Takes no lock of the account, so that no import delays it. Returns null if the domain no longer exists.
 *
 * A person who has complained may only opt out.
 */
export async function changePreferences(
  pool: Pool,
  token: UnsubscribeToken,
  wishOf: (before: Preferences) => Wish,
  origin: ConsentOrigin,
): Promise<ChangedPreferences | null> {
  const change = (tx: Tx) => changeInside(tx, token, wishOf, origin)
  return retryConflicts(() => pool.transaction(change))
}

async function changeInside(
  tx: Tx,
  token: UnsubscribeToken,
  wishOf: (before: Preferences) => Wish,
  origin: ConsentOrigin,
): Promise<ChangedPreferences | null> {
  await waitPatiently(tx)
  const has_email = await lockEmail(tx, token)
  const locked = await lockPreferences(tx, token, wishOf)
  if (!locked) return null
  const { before, wanted } = locked
  const changes = await store(tx, token, before, wanted)
  if (changes.length === 0) return { before, after: before }
  const consents = changes.map(change => ({ ...change, email: token.address }))
  await insertConsents(tx, token, consents, origin)
  await tellContact(tx, token, before, changes)
  if (has_email) await tellEmail(tx, token, before, changes)
  return { before, after: (await findPreferences(tx, token)) as Preferences }
}

/**
 * Reads and locks preferences. The row of a contact is locked against deletion, which takes over its opt-outs; an
 * address without a contact is locked against becoming one.
 */
async function lockPreferences(
  tx: Tx,
  person: Person,
  wishOf: (before: Preferences) => Wish,
): Promise<{ before: Preferences; wanted: Change[] } | null> {
  const { account_id, domain_id, address } = person
  for (;;) {
    const contact = await lockContact(tx, account_id, { domain_id, email: address })
    const before = await findPreferences(tx, person)
    if (!before) return null
    const wanted = differences(before, wishOf(before))
    if (contact ? contact.id === before.contact_id : before.contact_id === null) {
      if (contact || wanted.length === 0 || (await reserveAddress(tx, person))) return { before, wanted }
    }
  }
}

/** Returns the changes that a wish makes; a change of everything comes first. */
function differences({ is_unsubscribed, has_complained, topics }: Preferences, wish: Wish): Change[] {
  const is = new Map<string | null, boolean>(topics.map(topic => [topic.id, topic.is_subscribed]))
  is.set(null, !is_unsubscribed)
  const everything = wish.everything ? [{ topic_id: null, subscription: wish.everything }] : []
  const wanted = [...everything, ...(wish.topics ?? []).map(({ id, subscription }) => ({ topic_id: id, subscription }))]
  return wanted.filter(({ topic_id, subscription }) => {
    const isOptIn = subscription === 'opt_in'
    return is.has(topic_id) && is.get(topic_id) !== isOptIn && !(isOptIn && has_complained)
  })
}

/**
 * Stores changes and returns those that took effect: another request may have changed an address without a contact
 * first.
 */
async function store(tx: Tx, person: Person, { contact_id }: Preferences, changes: Change[]): Promise<Change[]> {
  const { account_id } = person
  if (contact_id === null) {
    const idsOf = (wanted: Subscription) =>
      changes.filter(({ subscription }) => subscription === wanted).map(({ topic_id }) => topic_id)
    const out = await insertOptouts(tx, person, idsOf('opt_out'))
    const back = await deleteOptouts(tx, person, idsOf('opt_in'))
    return [
      ...out.map(topic_id => ({ topic_id, subscription: 'opt_out' as const })),
      ...back.map(topic_id => ({ topic_id, subscription: 'opt_in' as const })),
    ]
  }
  const everything = changes.find(({ topic_id }) => topic_id === null)
  if (everything) await setUnsubscribed(tx, { account_id, id: contact_id }, everything.subscription === 'opt_out')
  const choices = changes.flatMap(({ topic_id, subscription }) => (topic_id ? [{ id: topic_id, subscription }] : []))
  if (choices.length > 0) await upsertChoices(tx, account_id, choices, [contact_id])
  return changes
}

async function tellContact(tx: Tx, person: Person, { contact_id }: Preferences, changes: Change[]): Promise<void> {
  if (contact_id === null) return
  const { account_id, address } = person
  const everything = changes.find(({ topic_id }) => topic_id === null)
  if (everything) await announceContacts(tx, account_id, 'contact.updated', [contact_id])
  if (everything?.subscription === 'opt_out') await tellContacts(tx, account_id, 'contact.unsubscribed', [contact_id])
  const topics = changes.flatMap(({ topic_id, subscription }) =>
    topic_id === null ? [] : [{ contact_id, email: address, topic_id, subscription }],
  )
  await announceTopics(tx, account_id, topics)
}

async function tellEmail(
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
