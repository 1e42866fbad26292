import { z } from 'zod'
import type { Verdicts } from '#lib/receiving/verdicts/verdict.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { ReceivedEmailId } from './received_emails.ts'

const EmailToParse = z.object({
  account_id: z.string(),
  id: z.string(),
  mail_from: z.string(),
  received_for: z.array(z.string()),
  client: z.object({
    address: z.string(),
    helo: z.string(),
    name: z.string().nullable(),
    tls: z.string().nullable(),
  }),
  size: z.int(),
  raw_blob_id: z.string(),
  parse_tries: z.int(),
})
export type EmailToParse = z.infer<typeof EmailToParse>

const WaitingEmail = EmailToParse.pick({ account_id: true, id: true, size: true, parse_tries: true })
export type WaitingEmail = z.infer<typeof WaitingEmail>

/** Returns those of the emails that are not parsed yet. */
export async function listEmailsToParse(db: Queryable, emails: ReceivedEmailId[]): Promise<WaitingEmail[]> {
  return db.any(sql.type(WaitingEmail)`
    SELECT r.account_id, r.id, r.size, r.parse_tries
    FROM json_to_recordset(${JSON.stringify(emails)}::json) AS g(account_id uuid, id uuid)
    JOIN received_emails r ON r.account_id = g.account_id AND r.id = g.id
    WHERE r.state = 'stored' ORDER BY r.id
  `)
}

/**
 * Counts the attempt before it starts, since a message that kills its process could not be counted afterwards. Returns
 * null if the email was deleted or is parsed already.
 */
export async function claimEmailToParse(
  db: Queryable,
  { account_id, id }: ReceivedEmailId,
): Promise<EmailToParse | null> {
  return db.maybeOne(sql.type(EmailToParse)`
    UPDATE received_emails SET parse_tries = parse_tries + 1
    WHERE account_id = ${account_id} AND id = ${id} AND state = 'stored' AND raw_blob_id IS NOT NULL
    RETURNING account_id, id, mail_from, received_for, client, size, raw_blob_id, parse_tries
  `)
}

/** Resets the count after an attempt that failed for a reason outside the message. */
export async function resetParseTries(db: Queryable, { account_id, id }: ReceivedEmailId): Promise<void> {
  await db.run(sql.unsafe`UPDATE received_emails SET parse_tries = 0 WHERE account_id = ${account_id} AND id = ${id}`)
}

/** The parsed parts of a message: addresses as the API returns them, content for received_contents. */
export type ParsedEmail = {
  from: string
  from_name: string | null
  to: string[]
  cc: string[]
  bcc: string[]
  reply_to: string[]
  subject: string
  message_id: string | null
  headers: Record<string, string>
  html: string | null
  text: string | null
  /** Description of what was left out. */
  parse_error: string | null
}

/** The verdicts about a message; `spf` is a result of RFC 7208. */
export type Judgement = { spf: string; verdicts: Verdicts }

/** Stores a parsed message. Returns false if it was parsed before: of two simultaneous calls only one writes. */
export async function markParsed(
  tx: Tx,
  { account_id, id }: ReceivedEmailId,
  email: ParsedEmail,
  { spf, verdicts }: Judgement,
): Promise<boolean> {
  const count = await tx.run(sql.unsafe`
    UPDATE received_emails SET state = 'parsed', sender = ${email.from}, from_name = ${email.from_name},
      "to" = ${sql.array(email.to, 'text')}, cc = ${sql.array(email.cc, 'text')}, bcc = ${sql.array(email.bcc, 'text')},
      reply_to = ${sql.array(email.reply_to, 'text')}, subject = ${email.subject}, message_id = ${email.message_id},
      spf = ${spf}, verdicts = ${JSON.stringify(verdicts)},
      parse_error = ${email.parse_error}
    WHERE account_id = ${account_id} AND id = ${id} AND state = 'stored'
  `)
  if (count === 0) return false
  await tx.run(sql.unsafe`
    INSERT INTO received_contents (account_id, received_email_id, headers, html, text)
    VALUES (${account_id}, ${id}, ${JSON.stringify(email.headers)}, ${email.html}, ${email.text})
  `)
  return true
}

/** `judgement`: null if no service was asked. `isListed`: true if it belongs in the inbox. */
export type Unreadable = { why: string; judgement: Judgement | null; isListed: boolean }

/** Marks an email as unreadable; only its raw message is kept. Returns false if it was parsed before. */
export async function markUnreadable(
  tx: Tx,
  { account_id, id }: ReceivedEmailId,
  { why, judgement, isListed }: Unreadable,
): Promise<boolean> {
  const count = await tx.run(sql.unsafe`
    UPDATE received_emails SET state = 'unreadable', kind = ${isListed ? 'email' : 'report'}, parse_error = ${why},
      spf = ${judgement?.spf ?? null},
      verdicts = ${judgement ? JSON.stringify(judgement.verdicts) : null}
    WHERE account_id = ${account_id} AND id = ${id} AND state = 'stored'
  `)
  return count > 0
}

/**
 * Claims emails that should be parsed by now: their job was lost, failed too often, or still waits; a second job does
 * no harm. They are claimed again if this job takes too long as well.
 */
export async function claimUnparsedEmails(tx: Tx, limit: number): Promise<ReceivedEmailId[]> {
  return tx.any(sql.type(z.object({ account_id: z.string(), id: z.string() }))`
    UPDATE received_emails SET parse_due_at = now() + interval '10 minutes'
    WHERE (account_id, id) IN (
      SELECT account_id, id FROM received_emails
      WHERE state = 'stored' AND raw_blob_id IS NOT NULL AND parse_due_at < now()
      ORDER BY parse_due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    RETURNING account_id, id
  `)
}
