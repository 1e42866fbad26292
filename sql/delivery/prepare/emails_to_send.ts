import { z } from 'zod'
import { TRACKING_SUBDOMAIN } from '#lib/domains/domain_records.ts'
import { SENDABLE } from '#lib/domains/domain_status.ts'
import { Source, StoredParts } from '#sql/contents/contents.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { ListedAttachment } from '#sql/sending/attachments.ts'
import type { EmailId } from '#sql/sending/emails.ts'

/** Text and html that together have more bytes are left out here: a hundred emails are loaded at once. */
export const LONG_CONTENT = 512 * 1024

/** A file of an email. `blob_id` and `size`: of its content; null until it is fetched from `path`. */
const AttachmentToSend = ListedAttachment.extend({ path: z.string().nullable(), blob_id: z.string().nullable() })
export type AttachmentToSend = z.infer<typeof AttachmentToSend>

/**
 * An email with the fields for composing its message. `submitted_at`: the date of the message. `content_size`: the most
 * bytes that its parts take; above LONG_CONTENT, `html` and `text` are null and must be read by `findEmailContents`.
 */
export const EmailToSend = z.object({
  account_id: z.string(),
  id: z.string(),
  domain_id: z.string().nullable(),
  topic_id: z.string().nullable(),
  campaign_id: z.string().nullable(),
  automation_id: z.string().nullable(),
  sendable: z.boolean(),
  tls: z.enum(['opportunistic', 'enforced']),
  transport: z.enum(['capture', 'relay', 'direct']).nullable(),
  return_path: z.string().nullable(),
  message_id: z.string(),
  from: z.string(),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  reply_to: z.array(z.string()),
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  content_size: z.int(),
  ...StoredParts.shape,
  /** 1: opens, 2: clicks, 3: both; null: neither. */
  tracking: z.int().nullable(),
  /** The host for tracked links, for an email with tracking, once its record is verified. */
  tracking_host: z.string().nullable(),
  attachments: z.array(AttachmentToSend),
  submitted_at: z.date(),
})
export type EmailToSend = z.infer<typeof EmailToSend>

export async function listEmailsToSend(db: Queryable, ids: EmailId[]): Promise<EmailToSend[]> {
  const accounts = sql.array(
    ids.map(email => email.account_id),
    'uuid',
  )
  const emails = sql.array(
    ids.map(email => email.id),
    'uuid',
  )
  return db.any(sql.prepared('list_emails_to_send', EmailToSend)`
    SELECT * FROM emails_to_send(${accounts}, ${emails}, ${LONG_CONTENT}, ${sql.array(SENDABLE, 'text')}, ${TRACKING_SUBDOMAIN})
  `)
}

/** Returns the text and html of one email, of any length. */
export async function findEmailContents(
  db: Queryable,
  { account_id, id }: EmailId,
): Promise<z.infer<typeof Source> | null> {
  return db.maybeOne(sql.prepared('find_email_contents', Source)`
    SELECT html, text FROM email_contents WHERE account_id = ${account_id} AND email_id = ${id}
  `)
}
