import { z } from 'zod'
import { SHORT_CONTENT } from '#sql/files/blobs.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/**
 * The client that brought a message: its address, what it called itself, what DNS calls it, the TLS version it spoke, and by which
 * protocol (`ESMTPS` and so on, RFC 3848).
 */
export type SmtpClient = {
  address: string
  helo: string
  name: string | null
  tls: string | null
  protocol?: string
}

/** A message, for one of the accounts that it is for. */
export type NewReceivedEmail = {
  account_id: string
  id: string
  domain_id: string | null
  mail_from: string
  received_for: string[]
  client: SmtpClient
  /** Hex. */
  sha256: string
  size: number
  /** Without one, nobody can tell a message that comes again from another that says the same. */
  has_message_id: boolean
  raw_blob_id: string
  /** Null: they are in the blob already. */
  bytes: Buffer | null
}

export type ReceivedEmailId = { account_id: string; id: string }

/**
 * One round trip and one commit for all that are new (receive_emails.sql). The bytes go as one binary parameter: as base64 in
 * JSON they would be a third more, and be read four times.
 */
export async function insertReceivedEmails(db: Queryable, emails: NewReceivedEmail[]): Promise<void> {
  const contents: Buffer[] = []
  let start = 1
  const given = emails.map(({ bytes, sha256, ...email }, position) => {
    const row = { position, ...email, sha256: `\\x${sha256}`, start: bytes ? start : null }
    if (bytes) {
      contents.push(bytes)
      start += bytes.length
    }
    return row
  })
  await db.run(sql.prepared('receive_emails', z.unknown())`
    SELECT receive_emails(${JSON.stringify(given)}::json, ${sql.binary(Buffer.concat(contents))}::bytea, ${SHORT_CONTENT}::int)
  `)
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

const Raw = z.object({
  raw_blob_id: z.string(),
  size: z.int(),
  mail_from: z.string(),
  client: z.object({
    address: z.string(),
    helo: z.string(),
    tls: z.string().nullable(),
    protocol: z.string().optional(),
  }),
  received_at: z.date(),
})
export type Raw = z.infer<typeof Raw>

/** Where its raw message lies, while that is kept, and how it came. */
export async function findRaw(db: Queryable, account_id: string, id: string): Promise<Raw | null> {
  return db.maybeOne(sql.type(Raw)`
    SELECT raw_blob_id, size, mail_from, client, created_at AS received_at FROM received_emails
    WHERE account_id = ${account_id} AND id = ${id} AND raw_blob_id IS NOT NULL AND state <> 'stored'
  `)
}

/** Returns whether the account has this received email and lists show it. */
export async function isReceivedEmail(db: Queryable, account_id: string, id: string): Promise<boolean> {
  const { found } = await db.one(sql.type(z.object({ found: z.boolean() }))`
    SELECT EXISTS (
      SELECT FROM received_emails WHERE account_id = ${account_id} AND id = ${id} AND state <> 'stored'
    ) AS found
  `)
  return found
}

/** Answers when it first was. Null: there is none. */
export async function markRead(db: Queryable, account_id: string, id: string): Promise<Date | null> {
  const row = await db.maybeOne(sql.type(z.object({ read_at: z.date() }))`
    UPDATE received_emails SET read_at = coalesce(read_at, now())
    WHERE account_id = ${account_id} AND id = ${id} AND state <> 'stored' RETURNING read_at
  `)
  return row?.read_at ?? null
}

/** With all that was read of it; its files are purged when nothing else has them. Answers whether there was one. */
export async function deleteReceivedEmail(db: Queryable, account_id: string, id: string): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    DELETE FROM received_emails WHERE account_id = ${account_id} AND id = ${id} AND state <> 'stored'
  `)
  return count > 0
}
