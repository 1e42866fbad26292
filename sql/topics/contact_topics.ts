import { z } from 'zod'
import { Subscription } from '#lib/contacts/new_contact.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/**
 * A topic of one contact. `subscription`: the effective one, `opt_out` for every topic if the contact
 * has unsubscribed. `choice`: the contact's own; null while the default of the topic applies.
 */
export const ContactTopic = z
  .object({
    object: z.literal('contact_topic'),
    id: z.string(),
    name: z.string().describe('Name of the topic.'),
    description: z.string().nullable().describe('Subject of the mail with this topic, as recipients see it.'),
    subscription: Subscription.describe(
      'Subscription of the contact. `opt_out` for every topic if the contact has unsubscribed.',
    ),
    choice: Subscription.nullable().describe('Choice of the contact; null: the default of the topic applies.'),
  })
  .meta({ id: 'ContactTopic' })
export type ContactTopic = z.infer<typeof ContactTopic>

type Member = { account_id: string; id: string; domain_id: string; unsubscribed: boolean }

/** Lists all topics that contacts of its domain have. */
export async function listContactTopics(
  db: Queryable,
  { account_id, id, domain_id, unsubscribed }: Member,
  position: Position,
): Promise<Page<ContactTopic>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ContactTopic)`
      SELECT 'contact_topic' AS object, t.id, t.name, t.description, c.subscription AS choice,
        CASE WHEN ${unsubscribed} THEN 'opt_out' ELSE coalesce(c.subscription, t.default_subscription) END AS subscription
      FROM (
        SELECT * FROM topics
        WHERE account_id = ${account_id} AND (domain_id IS NULL OR domain_id = ${domain_id}) AND ${where}
        ORDER BY ${order} LIMIT ${limit}
      ) t
      LEFT JOIN contact_topics c ON c.account_id = ${account_id} AND c.contact_id = ${id} AND c.topic_id = t.id
      ORDER BY t.${order}
    `),
  )
}
