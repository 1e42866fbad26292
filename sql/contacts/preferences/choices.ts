import { z } from 'zod'
import { accountForKey } from '#sql/contacts/contacts.ts'
import { sql, type Tx } from '#sql/pool.ts'
import type { Person } from './preferences.ts'

/**
 * Raises the lock timeout: an opt-out must not fail because a request with many contacts holds the row of this one,
 * which takes at most 10 s.
 */
export async function waitForLocks(tx: Tx): Promise<void> {
  await tx.run(sql.unsafe`SELECT set_config('lock_timeout', '12s', true)`)
}

/**
 * Locks an email before its recipients; returns false if it no longer exists, or its contents and recipients were
 * removed.
 */
export async function lockEmail(tx: Tx, { account_id, email_id }: EmailRef): Promise<boolean> {
  const count = await tx.run(sql.unsafe`
    SELECT FROM emails e WHERE account_id = ${account_id} AND id = ${email_id} AND EXISTS (
      SELECT FROM email_contents c WHERE c.account_id = e.account_id AND c.email_id = e.id
    ) FOR NO KEY UPDATE
  `)
  return count > 0
}

type EmailRef = { account_id: string; email_id: string }

/** Stores whether a contact has unsubscribed from everything. */
export async function setUnsubscribed(
  tx: Tx,
  { account_id, id }: { account_id: string; id: string },
  unsubscribed: boolean,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE contacts SET unsubscribed = ${unsubscribed}, updated_at = now()
    WHERE account_id = ${accountForKey(account_id)} AND id = ${id}
  `)
}

const Unreachable = z.object({ is_unreachable: z.boolean() })

/**
 * Returns true for a subscribed contact that mail has not reached for long (sql/campaigns/sending/soft_bounces.sql).
 */
export async function isToBeUnsubscribed(
  tx: Tx,
  { account_id, id }: { account_id: string; id: string },
): Promise<boolean> {
  const found = await tx.maybeOne(sql.type(Unreachable)`
    SELECT NOT c.unsubscribed AND is_unreachable(g) AS is_unreachable
    FROM contacts c JOIN contact_engagement g ON g.account_id = c.account_id AND g.contact_id = c.id
    WHERE c.account_id = ${accountForKey(account_id)} AND c.id = ${id}
  `)
  return found?.is_unreachable ?? false
}

const Reserved = z.object({ is_reserved: z.boolean() })

/**
 * Prevents others from adding a contact with this address; returns false if one exists by now (reserve_address.sql).
 */
export async function reserveAddress(tx: Tx, { account_id, domain_id, address }: Person): Promise<boolean> {
  const { is_reserved } = await tx.one(sql.type(Reserved)`
    SELECT reserve_address(${account_id}, ${domain_id}, ${address}) AS is_reserved
  `)
  return is_reserved
}

const Topic = z.object({ topic_id: z.string().nullable() })

/** Adds opt-outs of an address without a contact; null: from everything. Returns the new ones. */
export async function insertOptouts(
  tx: Tx,
  { account_id, domain_id, address }: Person,
  topic_ids: (string | null)[],
): Promise<(string | null)[]> {
  const rows = await tx.any(sql.type(Topic)`
    INSERT INTO contact_optouts (account_id, domain_id, email_hash, topic_id)
    SELECT ${account_id}::uuid, ${domain_id}::uuid, sha256(convert_to(${address}, 'UTF8')), given.topic_id
    FROM ${optedOutOf(topic_ids)} ORDER BY given.topic_id
    ON CONFLICT DO NOTHING RETURNING nullif(topic_id, everything()) AS topic_id
  `)
  return rows.map(({ topic_id }) => topic_id)
}

/** Removes opt-outs of an address without a contact. Returns those that existed. */
export async function deleteOptouts(
  tx: Tx,
  { account_id, domain_id, address }: Person,
  topic_ids: (string | null)[],
): Promise<(string | null)[]> {
  const rows = await tx.any(sql.type(Topic)`
    DELETE FROM contact_optouts
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND email_hash = sha256(convert_to(${address}, 'UTF8'))
      AND topic_id IN (SELECT given.topic_id FROM ${optedOutOf(topic_ids)})
    RETURNING nullif(topic_id, everything()) AS topic_id
  `)
  return rows.map(({ topic_id }) => topic_id)
}

/** Selects the topics in the form that contact_optouts stores. */
function optedOutOf(topic_ids: (string | null)[]) {
  return sql.fragment`(
    SELECT coalesce(id, everything()) AS topic_id FROM unnest(${sql.array(topic_ids, 'uuid')}) AS id
  ) AS given`
}

/** Records on an email that a recipient unsubscribed by it; null: from everything. */
export async function insertUnsubscribedEvent(
  tx: Tx,
  { account_id, email_id }: EmailRef,
  { address, ...data }: { address: string; contact_id: string | null; topic_id: string | null },
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE emails SET last_event = 'unsubscribed', updated_at = now() WHERE account_id = ${account_id} AND id = ${email_id}
  `)
  await tx.run(sql.unsafe`
    INSERT INTO email_events (account_id, email_id, type, recipient, data)
    VALUES (${account_id}, ${email_id}, 'unsubscribed', ${address}, ${JSON.stringify(data)})
  `)
  await tx.run(sql.unsafe`SELECT note_unsubscribed(${account_id}, ${email_id})`)
}
