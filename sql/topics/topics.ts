import { z } from 'zod'
import { Subscription } from '#lib/contacts/new_contact.ts'
import { Visibility } from '#lib/topics/new_topic.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** A subject that contacts choose to get mail about. `domain_id`: null for contacts of every domain. */
export const Topic = z
  .object({
    object: z.literal('topic'),
    id: z.string(),
    name: z.string().describe('Name of the topic.'),
    description: z.string().nullable().describe('Subject of the mail with this topic, as recipients see it.'),
    default_subscription: Subscription.describe('Subscription of contacts that have not chosen.'),
    visibility: Visibility.describe('`public`: contacts see it on their preference page.'),
    domain_id: z
      .string()
      .nullable()
      .describe('Id of the domain whose contacts have it; null: contacts of every domain.'),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'Topic' })
export type Topic = z.infer<typeof Topic>

const columns = sql.fragment`
  'topic' AS object, id, name, description, default_subscription, visibility, domain_id, created_at, updated_at
`

/** Lists topics; with `domain_id`, only those of contacts of that domain. */
export async function listTopics(
  db: Queryable,
  account_id: string,
  { domain_id }: { domain_id?: string | undefined },
  position: Position,
): Promise<Page<Topic>> {
  const ofDomain =
    domain_id === undefined ? sql.fragment`true` : sql.fragment`(domain_id IS NULL OR domain_id = ${domain_id})`
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(Topic)`
      SELECT ${columns} FROM topics WHERE account_id = ${account_id} AND ${ofDomain} AND ${where}
      ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

const NamedTopic = z.object({ id: z.string(), name: z.string() })
export type NamedTopic = z.infer<typeof NamedTopic>

/** Lists the topics that contacts of a domain have, oldest first. */
export async function listTopicsOfDomain(
  db: Queryable,
  { account_id, domain_id }: { account_id: string; domain_id: string },
): Promise<readonly NamedTopic[]> {
  return db.any(sql.type(NamedTopic)`
    SELECT id, name FROM topics WHERE account_id = ${account_id} AND (domain_id IS NULL OR domain_id = ${domain_id}) ORDER BY id
  `)
}

export async function findTopic(db: Queryable, account_id: string, id: string): Promise<Topic | null> {
  return db.maybeOne(sql.type(Topic)`SELECT ${columns} FROM topics WHERE account_id = ${account_id} AND id = ${id}`)
}

export type NewTopicRow = Omit<Topic, 'object' | 'created_at' | 'updated_at'> & { account_id: string }

export async function insertTopic(tx: Tx, row: NewTopicRow): Promise<Topic> {
  return tx.one(sql.type(Topic)`
    INSERT INTO topics (account_id, id, domain_id, name, description, default_subscription, visibility)
    VALUES (${row.account_id}, ${row.id}, ${row.domain_id}, ${row.name}, ${row.description}, ${row.default_subscription},
      ${row.visibility})
    RETURNING ${columns}
  `)
}

/** Fields to change; undefined leaves a field unchanged. */
export type TopicFields = {
  name?: string | undefined
  description?: string | null | undefined
  visibility?: z.infer<typeof Visibility> | undefined
}

/** Updates a topic and returns it; null if it does not exist. */
export async function updateTopic(
  tx: Tx,
  account_id: string,
  id: string,
  { name, description, visibility }: TopicFields,
): Promise<Topic | null> {
  const described = description === undefined ? sql.fragment`description` : sql.fragment`${description}`
  return tx.maybeOne(sql.type(Topic)`
    UPDATE topics SET name = coalesce(${name ?? null}, name), description = ${described},
      visibility = coalesce(${visibility ?? null}, visibility), updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id} RETURNING ${columns}
  `)
}

/** Locks a topic: no campaign about it can start until the transaction ends. */
export async function lockTopic(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT FROM topics WHERE account_id = ${account_id} AND id = ${id} FOR UPDATE`)
}

/** Deletes a topic and returns it; null if it does not exist. A job removes the choices of contacts about it. */
export async function deleteTopic(tx: Tx, account_id: string, id: string): Promise<Topic | null> {
  return tx.maybeOne(sql.type(Topic)`
    DELETE FROM topics WHERE account_id = ${account_id} AND id = ${id} RETURNING ${columns}
  `)
}
