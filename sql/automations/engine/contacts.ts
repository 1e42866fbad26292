import { z } from 'zod'
import { PropertyType, PropertyValue } from '#lib/contacts/new_property.ts'
import { sql, type Tx } from '#sql/pool.ts'
import { uuids } from './uuids.ts'

type ContactId = { account_id: string; contact_id: string }

const Read = z.object({
  account_id: z.string(),
  id: z.string(),
  email: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  unsubscribed: z.boolean(),
  timezone: z.string().nullable(),
  created_at: z.date(),
  /** By `stored_as`. */
  properties: z.record(z.string(), PropertyValue),
})
export type ReadContact = z.infer<typeof Read>

/** Reads the current state of contacts without locking them. */
export async function readContacts(tx: Tx, ids: ContactId[]): Promise<ReadContact[]> {
  return tx.any(sql.prepared('read_run_contacts', Read)`
    SELECT c.account_id, c.id, c.email, c.first_name, c.last_name, c.unsubscribed, c.timezone, c.created_at, c.properties
    FROM unnest(${uuids(ids, 'account_id')}, ${uuids(ids, 'contact_id')}) AS w(account_id, id)
    CROSS JOIN LATERAL (SELECT * FROM contacts c WHERE c.account_id = w.account_id AND c.id = w.id LIMIT 1) c
  `)
}

const Property = z.object({
  account_id: z.string(),
  key: z.string(),
  stored_as: z.string(),
  type: PropertyType,
  fallback_value: PropertyValue.nullable(),
})
export type AccountProperty = z.infer<typeof Property>

/** Lists the properties that contacts of these accounts can have. */
export async function listAccountProperties(tx: Tx, accounts: string[]): Promise<AccountProperty[]> {
  return tx.any(sql.prepared('list_account_properties', Property)`
    SELECT account_id, key, stored_as, type, fallback_value FROM contact_properties
    WHERE account_id = ANY (${sql.array(accounts, 'uuid')}) AND deleted_at IS NULL
  `)
}

const Taken = z.object({ account_id: z.string(), is_taken: z.boolean() })

/**
 * Tries to take the shared contact locks of accounts; returns the accounts that it locked. Does not wait for an import
 * that holds a lock.
 */
export async function tryContactLocks(tx: Tx, accounts: string[]): Promise<string[]> {
  const rows = await tx.any(sql.type(Taken)`
    SELECT id AS account_id, pg_try_advisory_xact_lock_shared(hashtextextended('contacts ' || id, 0)) AS is_taken
    FROM unnest(${sql.array(accounts, 'uuid')}) AS id
  `)
  return rows.filter(({ is_taken }) => is_taken).map(({ account_id }) => account_id)
}

const Locked = z.object({ id: z.string() })

/**
 * Tries to lock contacts against changes, or with `is_deleted` against all other locks, and their domains against
 * deletion. Returns the ids of the locked contacts; does not wait for locks.
 */
export async function tryLockContacts(tx: Tx, ids: ContactId[], is_deleted: boolean): Promise<string[]> {
  const strength = is_deleted ? sql.fragment`FOR UPDATE` : sql.fragment`FOR NO KEY UPDATE`
  const rows = await tx.any(sql.type(Locked)`
    SELECT c.id FROM unnest(${uuids(ids, 'account_id')}, ${uuids(ids, 'contact_id')}) AS w(account_id, id)
    CROSS JOIN LATERAL (
      SELECT * FROM contacts c WHERE c.account_id = w.account_id AND c.id = w.id ${strength} SKIP LOCKED
    ) c
    CROSS JOIN LATERAL (
      SELECT FROM domains d WHERE d.account_id = c.account_id AND d.id = c.domain_id FOR KEY SHARE SKIP LOCKED
    ) d
  `)
  return rows.map(({ id }) => id)
}

const Member = z.object({ account_id: z.string(), contact_id: z.string() })
export type MemberChange = { account_id: string; segment_id: string; contact_id: string; is_member: boolean }

/** Adds contacts to segments by hand, or removes them; returns the contacts for whom this changed something. */
export async function changeMembers(tx: Tx, changes: MemberChange[]): Promise<z.infer<typeof Member>[]> {
  const given = sql.fragment`json_to_recordset(${JSON.stringify(changes)}::json)
    AS g(account_id uuid, segment_id uuid, contact_id uuid, is_member boolean)`
  return tx.any(sql.type(Member)`
    WITH added AS (
      INSERT INTO segment_members (account_id, segment_id, contact_id)
      SELECT g.account_id, g.segment_id, g.contact_id FROM ${given} WHERE g.is_member ORDER BY g.segment_id, g.contact_id
      ON CONFLICT DO NOTHING RETURNING account_id, contact_id
    ), removed AS (
      DELETE FROM segment_members m USING ${given}
      WHERE NOT g.is_member AND m.account_id = g.account_id AND m.segment_id = g.segment_id AND m.contact_id = g.contact_id
      RETURNING m.account_id, m.contact_id
    )
    SELECT * FROM added UNION ALL SELECT * FROM removed
  `)
}

const Segment = z.object({ id: z.string() })

/** Locks segments of the domains of these contacts against deletion; returns those that exist. */
export async function blockSegmentDeletions(
  tx: Tx,
  segments: { account_id: string; domain_id: string; segment_id: string }[],
): Promise<string[]> {
  const rows = await tx.any(sql.type(Segment)`
    SELECT s.id FROM (
      SELECT DISTINCT account_id, domain_id, segment_id FROM json_to_recordset(${JSON.stringify(segments)}::json)
        AS g(account_id uuid, domain_id uuid, segment_id uuid) ORDER BY segment_id
    ) w
    CROSS JOIN LATERAL (
      SELECT s.id FROM segments s
      WHERE s.account_id = w.account_id AND s.domain_id = w.domain_id AND s.id = w.segment_id FOR KEY SHARE
    ) s
  `)
  return rows.map(({ id }) => id)
}

/** Deletes contacts of an account, which ends their other runs (sql/contacts/delete_contacts.sql). */
export async function deleteContacts(tx: Tx, account_id: string, ids: string[]): Promise<void> {
  await tx.run(sql.unsafe`SELECT delete_contacts(${account_id}, ${sql.array(ids, 'uuid')})`)
}
