import { z } from 'zod'
import { SHORT_CONTENT } from '#sql/files/blobs.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/**
 * The client that delivered a message: its address, its HELO name, its DNS name, its TLS version and the protocol
 * (`ESMTPS` and so on, RFC 3848).
 */
export type SmtpClient = {
  address: string
  helo: string
  name: string | null
  tls: string | null
  protocol?: string
}

/** A message for one of its accounts. */
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
  /** Without a Message-ID, a repeated message cannot be distinguished from another one with the same content. */
  has_message_id: boolean
  raw_blob_id: string
  /** The content; null if the blob is stored already. */
  bytes: Buffer | null
}

export type ReceivedEmailId = { account_id: string; id: string }

/**
 * Stores new messages in one round trip and one commit (receive_emails.sql). The bytes are one binary parameter: as
 * base64 in JSON they would be a third longer and be read four times.
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

/** Returns which of these emails are stored; used after a commit whose response was lost. */
export async function listStoredReceivedEmails(db: Queryable, emails: ReceivedEmailId[]): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT r.id FROM json_to_recordset(${JSON.stringify(emails)}::json) AS g(account_id uuid, id uuid)
    JOIN received_emails r ON r.account_id = g.account_id AND r.id = g.id
  `)
  return rows.map(row => row.id)
}

/** Forgets at most `limit` raw messages, except those of emails that are not parsed yet. Returns how many. */
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

/** Deletes reports whose raw message is gone; they have no use once they are parsed. Returns how many. */
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

/** Returns the blob of the raw message, while it is stored, and how the message arrived. */
export async function findRaw(db: Queryable, account_id: string, id: string): Promise<Raw | null> {
  return db.maybeOne(sql.type(Raw)`
    SELECT raw_blob_id, size, mail_from, client, created_at AS received_at FROM received_emails
    WHERE account_id = ${account_id} AND id = ${id} AND raw_blob_id IS NOT NULL AND state <> 'stored'
  `)
}

/** Returns true if the account has this received email and lists show it. */
export async function isReceivedEmail(db: Queryable, account_id: string, id: string): Promise<boolean> {
  return db.exists(sql.fragment`
    SELECT FROM received_emails WHERE account_id = ${account_id} AND id = ${id} AND state <> 'stored'
  `)
}

/** Marks an email as read; returns when it was first read, or null if it does not exist. */
export async function markRead(db: Queryable, account_id: string, id: string): Promise<Date | null> {
  const row = await db.maybeOne(sql.type(z.object({ read_at: z.date() }))`
    UPDATE received_emails SET read_at = coalesce(read_at, now())
    WHERE account_id = ${account_id} AND id = ${id} AND state <> 'stored' RETURNING read_at
  `)
  return row?.read_at ?? null
}

/**
 * Deletes an email with its parsed content; its files are purged unless something else uses them. Returns false if it
 * does not exist.
 */
export async function deleteReceivedEmail(db: Queryable, account_id: string, id: string): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    DELETE FROM received_emails WHERE account_id = ${account_id} AND id = ${id} AND state <> 'stored'
  `)
  return count > 0
}
