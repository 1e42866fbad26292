import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { accountForKey } from './contacts.ts'

/** A deleted parent whose rows remained. */
export type Deleted = { account_id: string; id: string }

/** Tables whose rows name a deleted audience, segment or topic. */
const members = {
  audience: { table: sql.fragment`audience_members`, parent: sql.fragment`audience_id` },
  segment: { table: sql.fragment`segment_members`, parent: sql.fragment`segment_id` },
  topic: { table: sql.fragment`contact_topics`, parent: sql.fragment`topic_id` },
}
export type Group = keyof typeof members

/** Deletes members of a deleted group; returns how many rows were deleted, 0 if none are left. */
export async function deleteMembers(db: Queryable, of: Group, deleted: Deleted, limit: number): Promise<number> {
  const { table, parent } = members[of]
  const isOf = sql.fragment`account_id = ${deleted.account_id} AND ${parent} = ${deleted.id}`
  return db.run(sql.unsafe`
    DELETE FROM ${table} WHERE ${isOf} AND contact_id = ANY (ARRAY(SELECT contact_id FROM ${table} WHERE ${isOf} LIMIT ${limit}))
  `)
}

/** Deletes contacts of a deleted domain with their events; returns how many, 0 if none are left. */
export async function deleteContactsOfDomain(
  db: Queryable,
  { account_id, id }: Deleted,
  limit: number,
): Promise<number> {
  return db.run(sql.unsafe`
    WITH slice AS MATERIALIZED (
      -- In the order of an index, else Postgres may read the contacts of all other domains before these.
      SELECT id FROM contacts WHERE account_id = ${account_id} AND domain_id = ${id} ORDER BY id LIMIT ${limit}
    ), events AS (
      DELETE FROM contact_events WHERE account_id = ${account_id} AND contact_id = ANY (ARRAY(SELECT id FROM slice))
    )
    DELETE FROM contacts WHERE account_id = ${accountForKey(account_id)} AND id = ANY (ARRAY(SELECT id FROM slice))
  `)
}

const Walked = z.object({ last: z.string().nullable() })

/**
 * Deletes events of a deleted domain, whose contacts may have been deleted before it, among the next events of the account;
 * returns the id of the last of them, or null at the end.
 */
export async function deleteEventsOfDomain(
  db: Queryable,
  { account_id, id }: Deleted,
  after: string | null,
  limit: number,
) {
  const { last } = await db.one(sql.type(Walked)`
    WITH slice AS MATERIALIZED (
      SELECT account_id, id, domain_id FROM contact_events
      WHERE account_id = ${account_id} AND (${after}::uuid IS NULL OR id > ${after}) ORDER BY id LIMIT ${limit}
    ), deleted AS (
      DELETE FROM contact_events e USING slice s WHERE s.domain_id = ${id} AND e.account_id = s.account_id AND e.id = s.id
    )
    SELECT max(id::text)::uuid AS last FROM slice
  `)
  return last
}

const byAddress = {
  optouts: sql.fragment`contact_optouts`,
  consents: sql.fragment`contact_consents`,
  former: sql.fragment`former_contacts`,
}

/** Deletes opt-outs, consents or former contacts of a deleted domain; returns how many, 0 if none are left. */
export async function deleteHashesOfDomain(
  db: Queryable,
  of: keyof typeof byAddress,
  { account_id, id }: Deleted,
  limit: number,
): Promise<number> {
  return db.run(sql.unsafe`
    DELETE FROM ${byAddress[of]} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${byAddress[of]} WHERE account_id = ${account_id} AND domain_id = ${id} LIMIT ${limit}))
  `)
}

/** Deletes the counts of a deleted audience. */
export async function deleteCounts(db: Queryable, { account_id, id }: Deleted): Promise<void> {
  await db.run(sql.unsafe`DELETE FROM audience_counts WHERE account_id = ${account_id} AND audience_id = ${id}`)
}

/** Deletes the counts of audiences that were deleted with their domains, except those that another job still changes. */
export async function deleteStrayCounts(db: Queryable, account_id: string): Promise<void> {
  await db.run(sql.unsafe`
    DELETE FROM audience_counts WHERE account_id = ${account_id} AND (audience_id, shard) IN (
      SELECT n.audience_id, n.shard FROM audience_counts n
      WHERE n.account_id = ${account_id} AND NOT EXISTS (
        SELECT FROM audiences a WHERE a.account_id = n.account_id AND a.id = n.audience_id
      )
      FOR UPDATE SKIP LOCKED)
  `)
}

/** Removes the values of a deleted property from the next contacts by id; returns the last of them, or null at the end. */
export async function removeValues(db: Queryable, deleted: Deleted, after: string | null, limit: number) {
  const { last } = await db.one(sql.type(Walked)`
    WITH slice AS MATERIALIZED (
      SELECT account_id, id, properties FROM contacts
      WHERE account_id = ${deleted.account_id} AND (${after}::uuid IS NULL OR id > ${after}) ORDER BY id LIMIT ${limit}
    ), holders AS MATERIALIZED (
      SELECT s.account_id, s.id, p.stored_as FROM slice s, contact_properties p
      WHERE p.account_id = ${deleted.account_id} AND p.id = ${deleted.id} AND p.deleted_at IS NOT NULL
        AND s.properties ? p.stored_as
    ), removed AS (
      UPDATE contacts c SET properties = c.properties - h.stored_as
      FROM holders h WHERE c.account_id = h.account_id AND c.id = h.id
    )
    SELECT max(id::text)::uuid AS last FROM slice
  `)
  return last
}

export async function deleteProperty(db: Queryable, { account_id, id }: Deleted): Promise<void> {
  await db.run(sql.unsafe`
    DELETE FROM contact_properties WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NOT NULL
  `)
}

/** Clears the address of a contact in the recipients of campaigns, even if it got no email. Figures are kept. */
export async function forgetRecipient(tx: Tx, account_id: string, contact_id: string): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaign_recipients r SET email = NULL FROM campaigns g
    WHERE g.account_id = ${account_id} AND r.account_id = g.account_id AND r.campaign_id = g.id
      AND r.contact_id = ${contact_id} AND r.email IS NOT NULL
  `)
}
