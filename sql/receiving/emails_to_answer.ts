import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import type { ReceivedEmailId } from './received_emails.ts'

/** The fields of a received email that a reply needs. Its addresses are unchecked input. */
const EmailToReplyTo = z.object({
  from: z.string(),
  from_name: z.string().nullable(),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  reply_to: z.array(z.string()),
  received_for: z.array(z.string()),
  subject: z.string(),
  message_id: z.string().nullable(),
  references: z.string().nullable(),
  in_reply_to: z.string().nullable(),
})
export type EmailToReplyTo = z.infer<typeof EmailToReplyTo>

/** Null if there is none, or it is not shown yet. */
export async function findEmailToReplyTo(
  db: Queryable,
  { account_id, id }: ReceivedEmailId,
): Promise<EmailToReplyTo | null> {
  const header = (name: string) =>
    sql.fragment`(SELECT h.value FROM jsonb_each_text(c.headers) AS h(key, value) WHERE lower(h.key) = ${name} LIMIT 1)`
  return db.maybeOne(sql.type(EmailToReplyTo)`
    SELECT r.sender AS "from", r.from_name, r."to", r.cc, r.reply_to, r.received_for, r.subject, r.message_id,
      ${header('references')} AS references, ${header('in-reply-to')} AS in_reply_to
    FROM received_emails r
    LEFT JOIN received_contents c ON c.account_id = r.account_id AND c.received_email_id = r.id
    WHERE r.account_id = ${account_id} AND r.id = ${id} AND r.state <> 'stored'
  `)
}

/** The fields of a received email that forwarding needs. `sha256`, hex: null if the file is not kept. */
const EmailToForward = z.object({
  is_readable: z.boolean(),
  received_for: z.array(z.string()),
  subject: z.string(),
  html: z.string().nullable(),
  text: z.string().nullable(),
  raw_sha256: z.string().nullable(),
  attachments: z.array(
    z.object({
      filename: z.string(),
      content_type: z.string(),
      charset: z.string().nullable(),
      content_disposition: z.enum(['attachment', 'inline']),
      content_id: z.string().nullable(),
      sha256: z.string().nullable(),
    }),
  ),
})
export type EmailToForward = z.infer<typeof EmailToForward>

/** Null if there is none, or it is not shown yet. */
export async function findEmailToForward(
  db: Queryable,
  { account_id, id }: ReceivedEmailId,
): Promise<EmailToForward | null> {
  return db.maybeOne(sql.type(EmailToForward)`
    SELECT r.state = 'parsed' AS is_readable, r.received_for, r.subject, c.html, c.text,
      (SELECT encode(b.sha256, 'hex') FROM blobs b WHERE b.account_id = r.account_id AND b.id = r.raw_blob_id) AS raw_sha256,
      (
        SELECT coalesce(jsonb_agg(jsonb_build_object('filename', a.filename, 'content_type', a.content_type,
          'charset', a.charset, 'content_disposition', a.content_disposition, 'content_id', a.content_id,
          'sha256', encode(b.sha256, 'hex')
        ) ORDER BY a.position), '[]')
        FROM received_attachments a LEFT JOIN blobs b ON b.account_id = a.account_id AND b.id = a.blob_id
        WHERE a.account_id = r.account_id AND a.received_email_id = r.id
      ) AS attachments
    FROM received_emails r
    LEFT JOIN received_contents c ON c.account_id = r.account_id AND c.received_email_id = r.id
    WHERE r.account_id = ${account_id} AND r.id = ${id} AND r.state <> 'stored'
  `)
}
