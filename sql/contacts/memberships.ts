import { z } from 'zod'
import { Subscription, type TopicChoice } from '#lib/contacts/new_contact.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { accountForKey } from './contacts.ts'

type Place = { account_id: string; domain_id: string }

const Missing = z.object({ id: z.string() })

const Joined = z.object({ contact_id: z.string() })

/**
 * Returns which of the segments do not belong to the domain; locks the others against deletion, since a job removes the
 * members of a deleted one.
 */
export async function listForeignSegments(db: Queryable, { account_id, domain_id }: Place, ids: string[]) {
  return db.any(sql.type(Missing)`
    WITH own AS MATERIALIZED (
      SELECT s.id FROM segments s
      WHERE s.account_id = ${account_id} AND s.domain_id = ${domain_id} AND s.id = ANY (${sql.array(ids, 'uuid')})
      ORDER BY s.id FOR KEY SHARE
    )
    SELECT id FROM unnest(${sql.array(ids, 'uuid')}) AS given (id) WHERE id NOT IN (SELECT id FROM own)
  `)
}

/** Adds contacts to segments by hand. Returns those that were not in all of them. */
export async function addToSegments(
  tx: Tx,
  account_id: string,
  segment_ids: string[],
  contact_ids: string[],
): Promise<string[]> {
  const rows = await tx.any(sql.type(Joined)`
    WITH joined AS (
      INSERT INTO segment_members (account_id, segment_id, contact_id)
      SELECT ${account_id}, s, c
      FROM unnest(${sql.array(segment_ids, 'uuid')}) AS s, unnest(${sql.array(contact_ids, 'uuid')}) AS c ORDER BY s, c
      ON CONFLICT DO NOTHING RETURNING contact_id
    )
    SELECT DISTINCT contact_id FROM joined
  `)
  return rows.map(({ contact_id }) => contact_id)
}

/** Adds contacts to an audience. Returns those that were not in it. */
export async function addToAudience(
  tx: Tx,
  account_id: string,
  audience_id: string,
  contact_ids: string[],
): Promise<string[]> {
  const rows = await tx.any(sql.type(Joined)`
    INSERT INTO audience_members (account_id, audience_id, contact_id)
    SELECT ${account_id}, ${audience_id}, id FROM unnest(${sql.array(contact_ids, 'uuid')}) AS id ORDER BY id
    ON CONFLICT DO NOTHING RETURNING contact_id
  `)
  return rows.map(({ contact_id }) => contact_id)
}

/** Returns which of the topics contacts of the domain cannot have; locks the others against deletion, as segments. */
export async function listForeignTopics(db: Queryable, { account_id, domain_id }: Place, ids: string[]) {
  return db.any(sql.type(Missing)`
    WITH own AS MATERIALIZED (
      SELECT t.id FROM topics t
      WHERE t.account_id = ${account_id} AND (t.domain_id IS NULL OR t.domain_id = ${domain_id})
        AND t.id = ANY (${sql.array(ids, 'uuid')})
      ORDER BY t.id FOR KEY SHARE
    )
    SELECT id FROM unnest(${sql.array(ids, 'uuid')}) AS given (id) WHERE id NOT IN (SELECT id FROM own)
  `)
}

const ChangedTopic = z.object({
  contact_id: z.string(),
  email: z.string(),
  topic_id: z.string(),
  subscription: Subscription,
})
export type ChangedTopic = z.infer<typeof ChangedTopic>

/**
 * Stores choices of contacts about topics; returns those that are new or different. Unless `may_opt_in`, a contact that
 * has opted out of a topic stays out of it.
 */
export async function upsertChoices(
  tx: Tx,
  account_id: string,
  choices: TopicChoice[],
  contact_ids: string[],
  may_opt_in = true,
): Promise<ChangedTopic[]> {
  return tx.any(sql.type(ChangedTopic)`
    WITH changed AS (
      INSERT INTO contact_topics AS t (account_id, contact_id, topic_id, subscription)
      SELECT ${account_id}::uuid, c, g.id, g.subscription
      FROM json_to_recordset(${JSON.stringify(choices)}::json) AS g (id uuid, subscription text),
        unnest(${sql.array(contact_ids, 'uuid')}) AS c
      ORDER BY c, g.id
      ON CONFLICT (account_id, contact_id, topic_id) DO UPDATE SET subscription = excluded.subscription
        WHERE t.subscription <> excluded.subscription AND (${may_opt_in} OR t.subscription = 'opt_in')
      RETURNING contact_id, topic_id, subscription
    )
    SELECT t.contact_id, c.email, t.topic_id, t.subscription
    FROM changed t JOIN contacts c ON c.account_id = ${accountForKey(account_id)} AND c.id = t.contact_id
  `)
}
