import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import { Email } from './email_records.ts'

export type EmailId = { account_id: string; id: string }

/** Select list of a query from `emails e`. */
export const listedColumns = sql.fragment`
  'email' AS object, e.id, e.domain_id, '<' || e.message_id || '>' AS message_id, e.sender AS "from", e."to", e.cc,
  e.bcc, e.reply_to, e.subject, e.status, e.last_event, e.tags, e.topic_id, e.template_id,
  e.campaign_id, e.automation_id, e.contact_id, e.scheduled_at, e.sent_at, e.created_at, e.updated_at
`

export async function findEmail(db: Queryable, account_id: string, id: string): Promise<Email | null> {
  return db.maybeOne(sql.type(Email)`
    SELECT ${listedColumns}, c.html, c.text, c.content_id, c.variables, c.renderer, coalesce(c.headers, '{}') AS headers,
      (
        SELECT coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type,
          'content_disposition', a.content_disposition, 'content_id', a.content_id, 'size', b.size) ORDER BY a.position), '[]')
        FROM attachments a LEFT JOIN blobs b ON b.account_id = a.account_id AND b.id = a.blob_id
        WHERE a.account_id = e.account_id AND a.email_id = e.id
      ) AS attachments,
      (
        SELECT coalesce(jsonb_agg(
          jsonb_strip_nulls(jsonb_build_object('type', v.type, 'created_at', v.created_at, 'recipient', v.recipient))
          || v.data ORDER BY v.created_at, v.id
        ), '[]')
        FROM (
          SELECT id, type, created_at, recipient, data FROM email_events
          WHERE account_id = e.account_id AND email_id = e.id
          UNION ALL
          SELECT 0, 'sent', e.sent_at, NULL, '{}' WHERE e.sent_at IS NOT NULL
        ) v
      ) AS events,
      (
        SELECT jsonb_agg(jsonb_build_object(
          'recipient', d.recipient,
          'state', CASE WHEN d.state = 'in_doubt' AND d.next_at IS NULL THEN 'held' ELSE d.state END,
          'reason', coalesce(w.pause, d.reason, CASE
            WHEN d.state = 'sending' THEN 'A worker has it.'
            WHEN d.state = 'in_doubt' THEN 'The receiver never replied to the end of the message.'
            WHEN d.next_at > now() AND d.next_at < 'infinity' THEN 'It is not due yet.'
            ELSE 'It is due and waits for a worker.'
          END),
          'attempts', d.attempt,
          'next_attempt_at', nullif(d.next_at, 'infinity'),
          'last_reply', d.last_reply
        ) ORDER BY d.id)
        FROM deliveries d
        CROSS JOIN LATERAL (
          -- Only a delivery that would be sent now is held up by a pause.
          SELECT CASE
            WHEN d.state <> 'queued' OR d.next_at > now() AND d.next_at < 'infinity' THEN NULL
            WHEN (SELECT paused_at FROM platform) IS NOT NULL THEN 'Sending is paused on this server.'
            WHEN a.paused_at IS NOT NULL THEN 'Sending is paused for the account.'
            WHEN o.paused_at IS NOT NULL THEN 'Sending is paused for the domain.'
            WHEN (SELECT g.status FROM campaigns g WHERE g.account_id = d.account_id AND g.id = d.campaign_id) = 'paused'
              THEN 'The campaign is paused.'
          END AS pause
        ) w
        WHERE d.email_id = e.id AND d.account_id = e.account_id AND d.state IN ('queued', 'sending', 'in_doubt')
      ) AS queue
    FROM emails e LEFT JOIN email_contents c ON c.account_id = e.account_id AND c.email_id = e.id
    JOIN accounts a ON a.id = e.account_id
    LEFT JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
    WHERE e.account_id = ${account_id} AND e.id = ${id}
  `)
}

const Count = z.object({ count: z.int() })

/**
 * Deletes contents, files, events, polls and recipients of these emails, except of emails that are not settled; returns
 * for how many.
 */
export async function forgetSettledEmails(db: Queryable, account_id: string, ids: string[]): Promise<number> {
  const { count } = await db.one(sql.type(Count)`
    SELECT forget_settled_emails(${account_id}, ${sql.array(ids, 'uuid')}) AS count
  `)
  return count
}

/**
 * Deletes data of sent mail that EMAIL_RETENTION_DAYS no longer keeps (forget_expired_emails.sql); returns for how many
 * emails.
 */
export async function forgetExpiredEmails(db: Queryable, days: number, limit: number): Promise<number> {
  const { count } = await db.one(sql.type(Count)`
    SELECT forget_expired_emails(${days}, ${limit}) AS count
  `)
  return count
}

export async function isEmail(db: Queryable, account_id: string, id: string): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM emails WHERE account_id = ${account_id} AND id = ${id}`)
}
