import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** A named group of contacts of a domain. The default audience has all of them. */
export const Audience = z
  .object({
    object: z.literal('audience'),
    id: z.string(),
    name: z.string().describe('Name of the audience.'),
    domain_id: z.string().describe('Id of its domain; the default audience of the domain has the same id.'),
    domain: z.string().describe('Name of its domain.'),
    contacts_count: z.int().describe('Number of its contacts.'),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'Audience' })
export type Audience = z.infer<typeof Audience>

const columns = sql.fragment`
  'audience' AS object, a.id, a.name, a.domain_id, d.name AS domain, (
    SELECT coalesce(sum(n.contacts), 0)::bigint FROM audience_counts n
    WHERE n.account_id = a.account_id AND n.audience_id = a.id
  ) AS contacts_count, a.created_at, a.updated_at
`
const from = sql.fragment`audiences a JOIN domains d ON d.account_id = a.account_id AND d.id = a.domain_id`

export async function listAudiences(
  db: Queryable,
  account_id: string,
  { domain_id }: { domain_id?: string | undefined },
  position: Position,
): Promise<Page<Audience>> {
  const ofDomain = domain_id === undefined ? sql.fragment`true` : sql.fragment`domain_id = ${domain_id}`
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(Audience)`
      SELECT ${columns} FROM (
        SELECT * FROM audiences WHERE account_id = ${account_id} AND ${ofDomain} AND ${where} ORDER BY ${order} LIMIT ${limit}
      ) a JOIN domains d ON d.account_id = a.account_id AND d.id = a.domain_id
      ORDER BY a.${order}
    `),
  )
}

export async function findAudience(db: Queryable, account_id: string, id: string): Promise<Audience | null> {
  return db.maybeOne(
    sql.type(Audience)`SELECT ${columns} FROM ${from} WHERE a.account_id = ${account_id} AND a.id = ${id}`,
  )
}

export type NewAudienceRow = { account_id: string; id: string; domain_id: string; name: string }

export async function insertAudience(
  db: Queryable,
  { account_id, id, domain_id, name }: NewAudienceRow,
): Promise<void> {
  await db.run(sql.unsafe`
    INSERT INTO audiences (account_id, id, domain_id, name) VALUES (${account_id}, ${id}, ${domain_id}, ${name})
  `)
}

/** Renames an audience; returns the number of changed rows (0 or 1). */
export async function updateAudience(db: Queryable, account_id: string, id: string, name: string): Promise<number> {
  return db.run(sql.unsafe`
    UPDATE audiences SET name = ${name}, updated_at = now() WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Locks an audience: no campaign to it can start until the transaction ends. */
export async function lockAudience(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT FROM audiences WHERE account_id = ${account_id} AND id = ${id} FOR UPDATE`)
}

/** Locks an audience against deletion until the transaction ends; returns false if it does not exist. */
export async function blockAudienceDeletion(db: Queryable, account_id: string, id: string): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    SELECT FROM audiences WHERE account_id = ${account_id} AND id = ${id} FOR KEY SHARE
  `)
  return count > 0
}

/** Deletes an audience, whose members a job removes; returns the number of deleted rows (0 or 1). */
export async function deleteAudience(tx: Tx, account_id: string, id: string): Promise<number> {
  return tx.run(sql.unsafe`DELETE FROM audiences WHERE account_id = ${account_id} AND id = ${id}`)
}
