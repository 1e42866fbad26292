import { z } from 'zod'
import { TRACKING_SUBDOMAIN } from '#lib/domains/domain_records.ts'
import { Source, StoredParts } from '#sql/contents/contents.ts'
import { sendableStatuses } from '#sql/domains/columns.ts'
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

const attachmentsOf = sql.fragment`(
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type,
    'content_disposition', a.content_disposition, 'content_id', a.content_id, 'path', a.path, 'size', b.size,
    'blob_id', a.blob_id) ORDER BY a.position), '[]')
  FROM attachments a LEFT JOIN blobs b ON b.account_id = a.account_id AND b.id = a.blob_id
  WHERE a.account_id = e.account_id AND a.email_id = e.id
)`

const trackingHost = sql.fragment`(
  SELECT r.name FROM domain_records r
  WHERE c.tracking IS NOT NULL AND r.account_id = o.account_id AND r.domain_id = o.id AND r.type = 'CNAME'
    AND r.name = coalesce(o.tracking_subdomain, ${TRACKING_SUBDOMAIN}) || '.' || o.name AND r.status = 'verified'
)`

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
    SELECT e.account_id, e.id, e.domain_id, e.topic_id, e.campaign_id, e.automation_id, e.message_id, e.sender AS "from", e."to", e.cc, e.reply_to, e.subject,
      c.headers, l.content_size, CASE WHEN l.content_size <= ${LONG_CONTENT} THEN c.html END AS html,
      CASE WHEN l.content_size <= ${LONG_CONTENT} THEN c.text END AS text, c.content_id, c.variables, c.renderer,
      c.tracking, ${trackingHost} AS tracking_host,
      ${attachmentsOf} AS attachments,
      coalesce(e.scheduled_at, e.created_at) AS submitted_at,
      coalesce(o.sending AND o.status IN ${sendableStatuses}, false) AS sendable,
      coalesce(o.tls, 'opportunistic') AS tls, o.transport,
      CASE WHEN o.return_path_verified THEN o.custom_return_path || '.' || o.name END AS return_path
    FROM emails e JOIN email_contents c ON c.account_id = e.account_id AND c.email_id = e.id
    -- Postgres knows the length of a long text without reading it.
    CROSS JOIN LATERAL (
      SELECT greatest(c.rendered_size, coalesce(octet_length(c.text), 0) + coalesce(octet_length(c.html), 0)
        -- A text part that is derived is hardly ever longer than its html.
        * CASE WHEN c.renderer IS NOT NULL AND c.text IS NULL THEN 2 ELSE 1 END) AS content_size
    ) l
    LEFT JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
    WHERE e.account_id = ANY(${accounts}) AND e.id = ANY(${emails})
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
