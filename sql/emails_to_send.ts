import { z } from 'zod'
import type { EmailId } from './emails.ts'
import { type Queryable, sql } from './pool.ts'

/** What an email's message is composed from. `created_at` and `scheduled_at` freeze its date. */
export const EmailToSend = z.object({
  account_id: z.string(),
  id: z.string(),
  domain_id: z.string().nullable(),
  sendable: z.boolean(),
  message_id: z.string(),
  from: z.string(),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  reply_to: z.array(z.string()),
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  html: z.string().nullable(),
  text: z.string().nullable(),
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
    SELECT e.account_id, e.id, e.domain_id, e.message_id, e.sender AS "from", e."to", e.cc, e.reply_to, e.subject,
      c.headers, c.html, c.text, coalesce(e.scheduled_at, e.created_at) AS submitted_at,
      coalesce(o.status IN ('verified', 'partially_verified', 'partially_failed'), false) AS sendable
    FROM emails e JOIN email_contents c ON c.account_id = e.account_id AND c.email_id = e.id
    LEFT JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
    WHERE e.account_id = ANY(${accounts}) AND e.id = ANY(${emails})
  `)
}
