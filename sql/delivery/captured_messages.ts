import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

export type CapturedMessage = { account_id: string; delivery_id: string; mail_from: string; message: Buffer }

/**
 * Stores each message once, even if its delivery is attempted several times. All messages are one binary parameter: an
 * array of bytea would be sent in hex, as a string of twice their length.
 */
export async function insertCapturedMessages(db: Queryable, captured: CapturedMessage[]): Promise<void> {
  const messages = captured.map(({ message }) => message)
  const [first] = messages
  await db.run(sql.prepared('insert_captured_messages', z.unknown())`
    INSERT INTO captured_messages (account_id, delivery_id, mail_from, message)
    SELECT account_id, delivery_id, mail_from,
      substring(${sql.binary(first && messages.length === 1 ? first : Buffer.concat(messages))}::bytea FROM start FOR length)
    FROM unnest(
      ${sql.array(
        captured.map(({ account_id }) => account_id),
        'uuid',
      )},
      ${sql.array(
        captured.map(({ delivery_id }) => delivery_id),
        'uuid',
      )},
      ${sql.array(
        captured.map(({ mail_from }) => mail_from),
        'text',
      )},
      ${sql.array(starts(messages), 'int4')},
      ${sql.array(
        messages.map(message => message.length),
        'int4',
      )}
    ) AS captured(account_id, delivery_id, mail_from, start, length)
    ON CONFLICT (account_id, delivery_id) DO NOTHING
  `)
}

/** Returns where each message starts in the concatenation; Postgres counts from 1. */
function starts(messages: Buffer[]): number[] {
  let next = 1
  return messages.map(({ length }) => {
    const start = next
    next += length
    return start
  })
}

const Listed = z.object({
  id: z.string(),
  created_at: z.date(),
  recipient: z.string(),
  subject: z.string(),
  size: z.int(),
})

/** Lists captured messages of all accounts for the operator, newest first. */
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

/** Finds a captured message by its id, or by the id of its email: then the copy of the first recipient. */
export async function findCapturedMessage(db: Queryable, id: string): Promise<z.infer<typeof Found> | null> {
  return db.maybeOne(sql.type(Found)`
    SELECT c.mail_from, d.recipient, c.message
    FROM captured_messages c JOIN deliveries d ON d.account_id = c.account_id AND d.id = c.delivery_id
    WHERE c.delivery_id = ${id} OR d.email_id = ${id}
    ORDER BY c.delivery_id LIMIT 1
  `)
}

const OwnListed = Listed.extend({ email_id: z.string(), from: z.string() })
export type OwnListedMessage = z.infer<typeof OwnListed>

/** Lists captured messages of an account, newest first. */
export async function listOwnCapturedMessages(
  db: Queryable,
  account_id: string,
  position: Position,
): Promise<Page<OwnListedMessage>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(OwnListed)`
      SELECT c.id, c.created_at, d.recipient, e.id AS email_id, e.sender AS "from", e.subject, length(c.message) AS size
      FROM (
        SELECT * FROM (
          SELECT delivery_id AS id, created_at, message FROM captured_messages WHERE account_id = ${account_id}
        ) own
        WHERE ${where} ORDER BY ${order} LIMIT ${limit}
      ) c
      JOIN deliveries d ON d.account_id = ${account_id} AND d.id = c.id
      JOIN emails e ON e.account_id = ${account_id} AND e.id = d.email_id
      ORDER BY ${order}
    `),
  )
}

const OwnFound = Found.extend({ id: z.string(), email_id: z.string(), created_at: z.date() })
export type OwnCapturedMessage = z.infer<typeof OwnFound>

/** As `findCapturedMessage`, within an account. */
export async function findOwnCapturedMessage(
  db: Queryable,
  account_id: string,
  id: string,
): Promise<OwnCapturedMessage | null> {
  return db.maybeOne(sql.type(OwnFound)`
    SELECT d.id, d.email_id, d.recipient, c.mail_from, c.message, c.created_at
    FROM (
      SELECT id, email_id, recipient FROM deliveries WHERE account_id = ${account_id} AND id = ${id}
      UNION ALL
      SELECT id, email_id, recipient FROM deliveries WHERE account_id = ${account_id} AND email_id = ${id}
    ) d
    JOIN captured_messages c ON c.account_id = ${account_id} AND c.delivery_id = d.id
    ORDER BY d.id LIMIT 1
  `)
}
