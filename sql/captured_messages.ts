import { z } from 'zod'
import { type Queryable, sql } from './pool.ts'

export type CapturedMessage = { account_id: string; delivery_id: string; mail_from: string; message: Buffer }

/** Stores each message once, however often its delivery is attempted. */
export async function insertCapturedMessages(db: Queryable, messages: CapturedMessage[]): Promise<void> {
  await db.run(sql.prepared('insert_captured_messages', z.unknown())`
    INSERT INTO captured_messages (account_id, delivery_id, mail_from, message)
    SELECT * FROM unnest(
      ${sql.array(
        messages.map(message => message.account_id),
        'uuid',
      )},
      ${sql.array(
        messages.map(message => message.delivery_id),
        'uuid',
      )},
      ${sql.array(
        messages.map(message => message.mail_from),
        'text',
      )},
      ${sql.array(
        messages.map(message => message.message),
        'bytea',
      )}
    )
    ON CONFLICT (account_id, delivery_id) DO NOTHING
  `)
}

const Listed = z.object({
  id: z.string(),
  created_at: z.date(),
  recipient: z.string(),
  subject: z.string(),
  size: z.int(),
})

/** For the operator: of every account, newest first. */
export async function listCapturedMessages(db: Queryable, limit: number): Promise<z.infer<typeof Listed>[]> {
  return db.any(sql.type(Listed)`
    SELECT c.delivery_id AS id, c.created_at, d.recipient, e.subject, length(c.message) AS size
    FROM captured_messages c
    JOIN deliveries d ON d.account_id = c.account_id AND d.id = c.delivery_id
    JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
    ORDER BY c.created_at DESC LIMIT ${limit}
  `)
}

const Found = z.object({ mail_from: z.string(), recipient: z.string(), message: z.instanceof(Buffer) })

/** By the captured message's id, or by its email's: the first recipient's copy. */
export async function findCapturedMessage(db: Queryable, id: string): Promise<z.infer<typeof Found> | null> {
  return db.maybeOne(sql.type(Found)`
    SELECT c.mail_from, d.recipient, c.message
    FROM captured_messages c JOIN deliveries d ON d.account_id = c.account_id AND d.id = c.delivery_id
    WHERE c.delivery_id = ${id} OR d.email_id = ${id}
    ORDER BY c.delivery_id LIMIT 1
  `)
}
