import { z } from 'zod'
import { accountForKey } from '#sql/contacts/contacts.ts'
import { sql, type Tx } from '#sql/pool.ts'
import { PLAN_HINTS } from '#sql/segments/plan_hints.ts'
import { cappedFor, type FrequencyCap } from '../frequency_cap.ts'

/** Prevents other campaigns from storing emails to these contacts until the transaction ends. */
export async function lockEngagement(tx: Tx, account_id: string, contact_ids: string[]): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO contact_engagement (account_id, contact_id) ${inOrder(account_id, contact_ids)}
    -- Locks the row without changing it.
    ON CONFLICT (account_id, contact_id) DO UPDATE SET sent_count = excluded.sent_count WHERE false
  `)
}

const Capped = z.object({ contact_id: z.string(), reason: z.enum(['mailed_recently', 'unengaged']) })
export type Capped = z.infer<typeof Capped>

/** Returns which of these contacts the frequency cap of a campaign excludes now. */
export async function listCapped(
  tx: Tx,
  account_id: string,
  contact_ids: string[],
  cap: FrequencyCap,
): Promise<Capped[]> {
  return tx.any(sql.type(Capped)`
    SELECT f.contact_id, f.reason FROM (
      SELECT c.id AS contact_id, ${cappedFor(cap, PLAN_HINTS.forFew)} AS reason FROM contacts c
      WHERE c.account_id = ${accountForKey(account_id)} AND c.id = ANY (${sql.array(contact_ids, 'uuid')})
    ) f WHERE f.reason IS NOT NULL
  `)
}

/** Records the emails that were just stored as the last ones of their contacts. */
export async function noteEmails(
  tx: Tx,
  account_id: string,
  emails: { contact_id: string; email_id: string }[],
): Promise<void> {
  const ids = sql.array(
    emails.map(({ email_id }) => email_id),
    'uuid',
  )
  const contact_ids = emails.map(({ contact_id }) => contact_id)
  await tx.run(sql.unsafe`
    INSERT INTO contact_engagement AS e (account_id, contact_id, first_email_at, last_email_at, last_email_id)
    SELECT k.account_id, k.id, now(), now(), w.email_id FROM (${inOrder(account_id, contact_ids)}) k
    JOIN unnest(${sql.array(contact_ids, 'uuid')}, ${ids}) AS w(contact_id, email_id) ON w.contact_id = k.id
    ORDER BY k.id
    ON CONFLICT (account_id, contact_id) DO UPDATE SET last_email_at = now(), last_email_id = excluded.last_email_id,
      first_email_at = coalesce(e.first_email_at, e.last_sent_at, now())
  `)
}

/**
 * Selects contacts in the order in which every transaction locks their engagement, without contacts that are being
 * deleted.
 */
function inOrder(account_id: string, contact_ids: string[]) {
  return sql.fragment`
    SELECT c.account_id, c.id FROM (SELECT unnest(${sql.array(contact_ids, 'uuid')}) AS id ORDER BY 1) w
    CROSS JOIN LATERAL (
      SELECT * FROM contacts c WHERE c.account_id = ${accountForKey(account_id)} AND c.id = w.id FOR KEY SHARE
    ) c`
}
