import { announce } from '#flows/webhooks/announce.ts'
import type { TopicChoice } from '#lib/contacts/new_contact.ts'
import { notFound } from '#lib/errors.ts'
import { blockAudienceDeletion } from '#sql/contacts/audiences.ts'
import { type ConsentOrigin, insertConsents } from '#sql/contacts/consents.ts'
import {
  addToAudience,
  addToSegments,
  type ChangedTopic,
  listForeignSegments,
  listForeignTopics,
  upsertChoices,
} from '#sql/contacts/memberships.ts'
import type { Queryable, Tx } from '#sql/pool.ts'

/** `audience_id`: an audience to join, beside the default one of the domain. */
export type ContactPlace = { account_id: string; domain_id: string; audience_id: string | null }

/** Segments to join, and choices about topics. */
export type Groups = { segments?: string[] | null | undefined; topics?: TopicChoice[] | null | undefined }

/**
 * In a transaction, also prevents the deletion of the groups until it ends.
 *
 * @throws {ApiError} 404 for a segment or topic that contacts of the domain cannot have, or for a deleted audience
 */
export async function requireGroups(db: Queryable, place: ContactPlace, { segments, topics }: Groups): Promise<void> {
  const { account_id, domain_id, audience_id } = place
  const isDefault = audience_id === null || audience_id === domain_id
  if (!isDefault && !(await blockAudienceDeletion(db, account_id, audience_id))) throw notFound('Audience')
  if (segments?.length && (await listForeignSegments(db, place, segments)).length > 0) throw notFound('Segment')
  const ids = topics?.map(({ id }) => id) ?? []
  if (ids.length > 0 && (await listForeignTopics(db, place, ids)).length > 0) throw notFound('Topic')
}

/**
 * Adds contacts to the audience and the segments, and stores their choices about topics. Returns those that were not in all of these
 * groups.
 */
export async function joinGroups(
  tx: Tx,
  place: ContactPlace,
  { segments, topics }: Groups,
  contact_ids: string[],
  origin: ConsentOrigin,
): Promise<Set<string>> {
  const { account_id, domain_id, audience_id } = place
  const isDefault = audience_id === null || audience_id === domain_id
  const ofAudience = isDefault ? [] : await addToAudience(tx, account_id, audience_id, contact_ids)
  const ofSegments = segments?.length ? await addToSegments(tx, account_id, segments, contact_ids) : []
  await chooseTopics(tx, place, topics, contact_ids, { origin, may_opt_in: true })
  return new Set([...ofAudience, ...ofSegments])
}

/** Stores the choices of contacts about topics. Unless `may_opt_in`, those who have opted out of a topic stay out of it. */
export async function chooseTopics(
  tx: Tx,
  { account_id, domain_id }: ContactPlace,
  topics: Groups['topics'],
  contact_ids: string[],
  { origin, may_opt_in }: { origin: ConsentOrigin; may_opt_in: boolean },
): Promise<void> {
  if (!topics?.length) return
  // The last of several choices about one topic counts.
  const choices = [...new Map(topics.map(choice => [choice.id, choice])).values()]
  const changed = await upsertChoices(tx, account_id, choices, contact_ids, may_opt_in)
  await insertConsents(tx, { account_id, domain_id }, changed, origin)
  await announceTopics(tx, account_id, changed)
}

/** Announces one event per contact, with its changed topics. */
export async function announceTopics(tx: Tx, account_id: string, changed: ChangedTopic[]): Promise<void> {
  const events = [...Map.groupBy(changed, ({ contact_id }) => contact_id)].map(([id, choices]) => ({
    account_id,
    type: 'contact.topics.updated' as const,
    data: () => ({
      id,
      email: choices[0]?.email,
      topics: choices.map(({ topic_id, subscription }) => ({ id: topic_id, subscription })),
    }),
  }))
  await announce(tx, events)
}
