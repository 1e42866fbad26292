import { z } from 'zod'
import type { Category } from '../lib/category.ts'
import { type Queryable, sql } from './pool.ts'
import type { ReceivedEmailId } from './received_emails.ts'

const Sent = z.object({ id: z.string() })

/** The sent email that the first of these names, nearest first; a message id is without angle brackets. */
export async function findAnsweredEmail(
  db: Queryable,
  account_id: string,
  message_ids: { id: string; message_id: string }[],
): Promise<string | null> {
  if (message_ids.length === 0) return null
  const found = await db.any(sql.type(Sent)`
    SELECT e.id
    FROM ROWS FROM (json_to_recordset(${JSON.stringify(message_ids)}::json) AS (id uuid, message_id text)) WITH ORDINALITY
      AS m(id, message_id, position)
    JOIN emails e ON e.account_id = ${account_id} AND e.id = m.id AND lower(e.message_id) = lower(m.message_id)
    ORDER BY m.position LIMIT 1
  `)
  return found[0]?.id ?? null
}

export type Reply = { email_id: string; category: Category | null }

/** Links a reply to what it answers, which tells of it; an email that is gone since is told nothing. */
export async function insertReply(tx: Queryable, { account_id, id }: ReceivedEmailId, reply: Reply): Promise<void> {
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
}

/** Nobody's post: it is kept, and not listed. */
export async function markReport(tx: Queryable, { account_id, id }: ReceivedEmailId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE received_emails SET kind = 'report' WHERE account_id = ${account_id} AND id = ${id}
  `)
}
