import { HourlyCap, RECIPIENT_CAP } from '#lib/async/fair/hourly_cap.ts'
import { OneAtATime } from '#lib/async/fair/one_at_a_time.ts'
import type { Subscription, TopicChoice } from '#lib/contacts/new_contact.ts'
import type { UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { type ConsentOrigin, insertConsents } from '#sql/contacts/consents.ts'
import { lockContact } from '#sql/contacts/contact_changes.ts'
import { upsertChoices } from '#sql/contacts/memberships.ts'
import {
  deleteOptouts,
  insertOptouts,
  lockEmail,
  reserveAddress,
  setUnsubscribed,
  waitForLocks,
} from '#sql/contacts/preferences/choices.ts'
import { findPreferences, type Person, type Preferences } from '#sql/contacts/preferences/preferences.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { announceContactChanges, announceEmailOptOuts, type Change } from './announce_changes.ts'

/** Changes that a person asks for. */
export type PreferenceRequest = { everything?: Subscription; topics?: TopicChoice[] }

/**
 * Preferences before and after a change; both are the same object if nothing changed. `is_limited`: the person opted in too often
 * to do so again.
 */
export type ChangedPreferences = { before: Preferences; after: Preferences; is_limited: boolean }

/** Opt-ins per person. They are what limits changes back and forth, since an opt-out is never refused. */
const optIns = new HourlyCap(RECIPIENT_CAP)

/** Changes wait for the rows of their person here, so that many clicks of one person do not take all connections. */
const turns = new OneAtATime()

/**
 * Stores the preferences of the recipient of an email in one commit with consents, events of the email and webhook
 * events. Takes no lock of the account, so that no import delays it. Returns null if the domain no longer exists.
 *
 * A person who has complained may only opt out, and so may one who has opted in 1,000 times within an hour.
 */
export async function changePreferences(
  pool: Pool,
  token: UnsubscribeToken,
  requestOf: (before: Preferences) => PreferenceRequest,
  origin: ConsentOrigin,
): Promise<ChangedPreferences | null> {
  const change = (tx: Tx) => changeInside(tx, token, requestOf, origin)
  return turns.run(keyOf(token), () => retryConflicts(() => pool.transaction(change)))
}

async function changeInside(
  tx: Tx,
  token: UnsubscribeToken,
  requestOf: (before: Preferences) => PreferenceRequest,
  origin: ConsentOrigin,
): Promise<ChangedPreferences | null> {
  await waitForLocks(tx)
  const has_email = await lockEmail(tx, token)
  const locked = await lockPreferences(tx, token, requestOf)
  if (!locked) return null
  const { before, wanted } = locked
  const mayOptIn = !optIns.isReached(keyOf(token))
  const allowed = mayOptIn ? wanted : wanted.filter(isOptOut)
  const is_limited = allowed.length < wanted.length
  const changes = await store(tx, token, before, allowed)
  if (changes.length === 0) return { before, after: before, is_limited }
  optIns.add(keyOf(token), changes.filter(change => !isOptOut(change)).length)
  const consents = changes.map(change => ({ ...change, email: token.address }))
  await insertConsents(tx, token, consents, origin)
  await announceContactChanges(tx, token, before, changes)
  if (has_email) await announceEmailOptOuts(tx, token, before, changes)
  return { before, after: (await findPreferences(tx, token)) as Preferences, is_limited }
}

function keyOf({ account_id, domain_id, address }: Person): string {
  return `${account_id} ${domain_id} ${address}`
}

function isOptOut({ subscription }: Change): boolean {
  return subscription === 'opt_out'
}

/**
 * Reads and locks preferences. The row of a contact is locked against deletion, which takes over its opt-outs; an
 * address without a contact is locked against becoming one.
 */
async function lockPreferences(
  tx: Tx,
  person: Person,
  requestOf: (before: Preferences) => PreferenceRequest,
): Promise<{ before: Preferences; wanted: Change[] } | null> {
  const { account_id, domain_id, address } = person
  for (;;) {
    const contact = await lockContact(tx, account_id, { domain_id, email: address })
    const before = await findPreferences(tx, person)
    if (!before) return null
    const wanted = differences(before, requestOf(before))
    if (contact ? contact.id === before.contact_id : before.contact_id === null) {
      if (contact || wanted.length === 0 || (await reserveAddress(tx, person))) return { before, wanted }
    }
  }
}

/** Returns the changes that a request makes; a change of everything comes first. */
function differences({ is_unsubscribed, has_complained, topics }: Preferences, request: PreferenceRequest): Change[] {
  const isSubscribed = new Map<string | null, boolean>(topics.map(topic => [topic.id, topic.is_subscribed]))
  isSubscribed.set(null, !is_unsubscribed)
  const everything = request.everything ? [{ topic_id: null, subscription: request.everything }] : []
  const wanted = [
    ...everything,
    ...(request.topics ?? []).map(({ id, subscription }) => ({ topic_id: id, subscription })),
  ]
  return wanted.filter(({ topic_id, subscription }) => {
    const isOptIn = subscription === 'opt_in'
    return isSubscribed.get(topic_id) !== isOptIn && !(isOptIn && has_complained)
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
