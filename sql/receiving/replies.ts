import { z } from 'zod'
import type { Category } from '#lib/receiving/replies/category.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { ReceivedEmailId } from './received_emails.ts'

const Sent = z.object({ id: z.string() })

/**
 * A message id that a reply names, without angle brackets. `id`: the id of the email, if the message id is one of ours.
 */
export type NamedMessage = { message_id: string; id: string | null }

/**
 * Maximum number of emails looked at per message id: a client may give the same id to every message of a mailing to a million
 * recipients.
 */
const MAX_OF_ONE_ID = 1_000

/**
 * Returns the sent email that the first matching id names, nearest first. Several emails may have a message id that
 * their client chose: those sent to `from`, who replies, come first, then the newest. Looks at the newest MAX_OF_ONE_ID
 * of them.
 */
export async function findRepliedEmail(
  db: Queryable,
  account_id: string,
  named: NamedMessage[],
  from: string,
): Promise<string | null> {
  if (named.length === 0) return null
  const found = await db.any(sql.type(Sent)`
    SELECT f.id
    FROM ROWS FROM (json_to_recordset(${JSON.stringify(named)}::json) AS (id uuid, message_id text)) WITH ORDINALITY
      AS m(id, message_id, position)
    CROSS JOIN LATERAL (
      SELECT e.id FROM emails e
      WHERE e.account_id = ${account_id} AND e.id = m.id AND lower(e.message_id) = lower(m.message_id)
      UNION ALL
      (
        SELECT k.email_id FROM kept_message_ids k
        WHERE k.account_id = ${account_id} AND k.message_id = lower(m.message_id)
        ORDER BY k.email_id DESC LIMIT ${MAX_OF_ONE_ID}
      )
    ) f
    ORDER BY m.position, EXISTS (
      SELECT FROM deliveries d
      WHERE d.account_id = ${account_id} AND d.email_id = f.id AND lower(d.recipient) = lower(${from})
    ) DESC, f.id DESC LIMIT 1
  `)
  return found[0]?.id ?? null
}

export type Reply = { email_id: string; category: Category | null }

/** Links a reply to the email that it answers, and reports this; does nothing if that email no longer exists. */
export async function insertReply(tx: Tx, { account_id, id }: ReceivedEmailId, reply: Reply): Promise<void> {
  const { email_id, category } = reply
  const count = await tx.run(sql.unsafe`
    UPDATE emails SET last_event = 'replied', updated_at = now() WHERE account_id = ${account_id} AND id = ${email_id}
  `)
  if (count === 0) return
  await tx.run(sql.unsafe`
    UPDATE received_emails SET reply_to_email_id = ${email_id}, category = ${category}
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  await tx.run(sql.unsafe`
    INSERT INTO email_events (account_id, email_id, type, data)
    VALUES (${account_id}, ${email_id}, 'replied', ${JSON.stringify({ received_email_id: id, category })})
  `)
  await tx.run(sql.unsafe`SELECT note_replied(${account_id}, ${email_id}, ${id})`)
  await tx.run(sql.unsafe`SELECT tell_reply(${account_id}, ${email_id}, ${id})`)
}

/** Marks an email as a report: it is stored but not listed. */
export async function markReport(tx: Tx, { account_id, id }: ReceivedEmailId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE received_emails SET kind = 'report' WHERE account_id = ${account_id} AND id = ${id}
  `)
}
