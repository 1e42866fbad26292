import { z } from 'zod'
import type { PropertyValue } from '#lib/contacts/new_property.ts'
import { sql, type Tx } from '#sql/pool.ts'
import { type ContactRef, isContact } from './contacts.ts'

const Locked = z.object({ is_there: z.boolean() })

/**
 * Takes the shared contact lock of the account, and locks the domain against deletion; returns false if the domain does
 * not exist. Waits at most 2 s, then throws SQLSTATE 55P03.
 */
export async function lockContacts(tx: Tx, account_id: string, domain_id: string): Promise<boolean> {
  const { is_there } = await tx.one(sql.type(Locked)`
    SELECT lock_contacts(${account_id}, ${domain_id}, false, 2000) AS is_there
  `)
  return is_there
}

/** Limits each further statement of the transaction: SQLSTATE 57014 after `ms`. */
export async function limitStatements(tx: Tx, ms: number): Promise<void> {
  await tx.run(sql.unsafe`SELECT set_config('statement_timeout', ${String(Math.max(1, Math.ceil(ms)))}, true)`)
}

/**
 * Makes this transaction count its contacts in a shard that few others use (sql/contacts/count_contacts.sql), since it
 * holds the shard for seconds.
 */
export async function countInOwnShard(tx: Tx): Promise<void> {
  await tx.run(sql.unsafe`SELECT set_config('mailbrook.count_shard', (1000 + pg_backend_pid() % 100)::text, true)`)
}

/** Announces contacts to webhooks in their current state, so it must be called before they are deleted. */
export async function announceContacts(
  tx: Tx,
  account_id: string,
  type: 'contact.created' | 'contact.updated' | 'contact.deleted',
  ids: string[],
): Promise<void> {
  if (ids.length === 0) return
  await tx.run(sql.unsafe`SELECT announce_contacts(${account_id}, ${type}, ${sql.array(ids, 'uuid')})`)
}

/**
 * A contact to store. Null leaves a field unchanged; an empty text or a null property clears it. `properties`: by
 * `stored_as`.
 */
export type GivenContact = {
  id: string
  email: string
  first_name: string | null
  last_name: string | null
  unsubscribed: boolean | null
  do_not_track: boolean | null
  timezone: string | null
  properties: Record<string, PropertyValue | null> | null
}

const UpsertedContact = z.object({
  id: z.string(),
  email: z.string(),
  outcome: z.enum(['created', 'updated', 'unchanged', 'skipped']),
  unsubscribed: z.boolean(),
  was_unsubscribed: z.boolean().nullable(),
})
export type UpsertedContact = z.infer<typeof UpsertedContact>

export type UpsertOptions = {
  account_id: string
  domain_id: string
  on_conflict: 'upsert' | 'skip'
  may_resubscribe: boolean
  source: 'api' | 'import' | 'event'
  source_id: string | null
}

/** Adds or changes contacts of a domain, each address once and in lower case (sql/contacts/upsert_contacts.sql). */
export async function upsertContacts(
  tx: Tx,
  contacts: GivenContact[],
  { account_id, domain_id, on_conflict, may_resubscribe, source, source_id }: UpsertOptions,
): Promise<UpsertedContact[]> {
  const upserted: UpsertedContact[] = []
  for (let left = contacts; left.length > 0; ) {
    const rows = await tx.any(sql.type(UpsertedContact)`
      SELECT * FROM upsert_contacts(${account_id}, ${domain_id}, ${JSON.stringify(left)}::json, ${on_conflict},
        ${may_resubscribe}, ${source}, ${source_id})
    `)
    upserted.push(...rows)
    // A contact that another request deleted during the statement is missing.
    const found = new Set(rows.map(({ email }) => email))
    left = left.filter(({ email }) => !found.has(email))
  }
  return upserted
}

/** Finds a contact and locks it against changes until the transaction ends. */
export async function lockContact(tx: Tx, account_id: string, ref: ContactRef): Promise<LockedContact | null> {
  return tx.maybeOne(sql.type(LockedContact)`
    SELECT c.id, c.domain_id, c.email FROM contacts c WHERE ${isContact(account_id, ref)} FOR NO KEY UPDATE OF c
  `)
}

const LockedContact = z.object({ id: z.string(), domain_id: z.string(), email: z.string() })
export type LockedContact = z.infer<typeof LockedContact>

/** Deletes a contact with its memberships. Its opt-outs are kept under the hash of its address. */
export async function deleteContact(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT delete_contacts(${account_id}, ARRAY[${id}]::uuid[])`)
}

/** Removes a contact from an audience; returns the number of removed rows (0 or 1). */
export async function removeFromAudience(
  tx: Tx,
  account_id: string,
  audience_id: string,
  contact_id: string,
): Promise<number> {
  return tx.run(sql.unsafe`
    DELETE FROM audience_members
    WHERE account_id = ${account_id} AND audience_id = ${audience_id} AND contact_id = ${contact_id}
  `)
}
