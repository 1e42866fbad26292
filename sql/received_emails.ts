import { z } from 'zod'
import { SHORT_CONTENT } from './blobs.ts'
import { type Queryable, sql } from './pool.ts'

/** Who brought a message: its address, what it called itself, what DNS calls it, and the TLS version it spoke. */
export type SmtpClient = { address: string; helo: string; name: string | null; tls: string | null }

/** A message, for one of the accounts that it is for. */
export type NewReceivedEmail = {
  account_id: string
  id: string
  domain_id: string
  mail_from: string
  received_for: string[]
  client: SmtpClient
  /** Hex. */
  sha256: string
  size: number
  raw_blob_id: string
}

/** The bytes of a message that is in no blob yet. */
export type NewRawContent = { account_id: string; raw_blob_id: string; sha256: string; bytes: Buffer }

export type ReceivedEmailId = { account_id: string; id: string }

const Stored = z.object({ position: z.int(), is_new: z.boolean() })

/**
 * One round trip and one commit for all; tells of each, in their order, whether it is new (receive_emails.sql). The bytes
 * go as one binary parameter: as base64 in JSON they would be a third more, and be read four times.
 */
export async function insertReceivedEmails(
  db: Queryable,
  emails: NewReceivedEmail[],
  contents: NewRawContent[],
): Promise<boolean[]> {
  const given = JSON.stringify(emails.map((email, position) => ({ position, ...email })))
  let start = 1
  const places = contents.map(({ bytes, ...content }) => {
    const place = { ...content, size: bytes.length, start }
    start += bytes.length
    return place
  })
  const all = Buffer.concat(contents.map(({ bytes }) => bytes))
  const rows = await db.any(sql.prepared('receive_emails', Stored)`
    SELECT position, is_new FROM receive_emails(${given}::json, ${JSON.stringify(places)}::json, ${sql.binary(all)}::bytea,
      ${SHORT_CONTENT}::int)
    ORDER BY position
  `)
  return rows.map(row => row.is_new)
}

/** Which of these are stored: asked after a commit whose answer was lost. */
export async function listStoredReceivedEmails(db: Queryable, emails: ReceivedEmailId[]): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT r.id FROM json_to_recordset(${JSON.stringify(emails)}::json) AS g(account_id uuid, id uuid)
    JOIN received_emails r ON r.account_id = g.account_id AND r.id = g.id
  `)
  return rows.map(row => row.id)
}

/** Forgets raw messages, as many as one statement should; what is not read yet keeps its own. Answers how many it were. */
export async function forgetRawMessages(db: Queryable, older_than_days: number, limit: number): Promise<number> {
  return db.run(sql.unsafe`
    UPDATE received_emails SET raw_blob_id = NULL
    WHERE (account_id, id) IN (
      SELECT account_id, id FROM received_emails
      WHERE raw_blob_id IS NOT NULL AND state <> 'stored' AND created_at < now() - make_interval(days => ${older_than_days})
      ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
  `)
}

/** Reports, whose work is done once they are read: they go when their raw message has gone. Answers how many it were. */
export async function deleteReports(db: Queryable, limit: number): Promise<number> {
  return db.run(sql.unsafe`
    DELETE FROM received_emails
    WHERE (account_id, id) IN (
      SELECT account_id, id FROM received_emails
      WHERE kind = 'report' AND raw_blob_id IS NULL AND state <> 'stored'
      LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
  `)
}
