import { z } from 'zod'
import { type Page, type Position, readPage } from './page.ts'
import { type Queryable, sql } from './pool.ts'

/** One recipient of a draft. Made in Node so that rows, children and the job go in one statement. */
export type DraftRecipient = {
  id: string
  recipient: string
  destination: string
  visible_in: 'to' | 'cc' | 'bcc'
  reserved: boolean
  simulated: boolean
}

/** What `accept_emails` takes (sql/migrations/0003). `key`, with its route and hex fingerprint, may be null. */
export type Draft = {
  account_id: string
  id: string
  domain: string
  key_domain_id: string | null
  route: string
  key: string | null
  fingerprint: string | null
  message_id: string
  sender: string
  to: string[]
  cc: string[]
  bcc: string[]
  reply_to: string[]
  subject: string
  headers: Record<string, string>
  tags: { name: string; value: string }[]
  html: string | null
  text: string | null
  recipients: DraftRecipient[]
}

const Accepted = z.object({
  position: z.int(),
  outcome: z.enum([
    'accepted',
    'replayed',
    'key_conflict',
    'domain_not_verified',
    'domain_not_allowed',
    'all_suppressed',
  ]),
  answer: z.object({ id: z.string() }).nullable(),
})
export type Accepted = z.infer<typeof Accepted>

/** One round trip and, outside a transaction, one commit for all drafts; one outcome for each, in their order. */
export async function insertEmails(db: Queryable, drafts: Draft[]): Promise<Accepted[]> {
  const numbered = JSON.stringify(drafts.map((draft, position) => ({ position, ...draft })))
  return db.any(sql.prepared('accept_emails', Accepted)`
    SELECT position, outcome, answer FROM accept_emails(${numbered}::text::jsonb) ORDER BY position
  `)
}

/** Which of these ids are stored: asked after a commit whose answer was lost. */
export async function listStoredEmails(db: Queryable, ids: string[]): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT id FROM emails WHERE (account_id, id) IN (
      SELECT account_id, email_id FROM deliveries WHERE email_id = ANY(${sql.array(ids, 'uuid')})
    )
  `)
  return rows.map(row => row.id)
}

const listed = {
  object: z.literal('email'),
  id: z.string(),
  domain_id: z.string().nullable(),
  message_id: z.string(),
  from: z.string(),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  bcc: z.array(z.string()),
  reply_to: z.array(z.string()),
  subject: z.string(),
  status: z.string(),
  last_event: z.string(),
  tags: z.array(z.object({ name: z.string(), value: z.string() })),
  topic_id: z.null(),
  template_id: z.null(),
  campaign_id: z.null(),
  automation_id: z.null(),
  contact_id: z.null(),
  scheduled_at: z.date().nullable(),
  sent_at: z.date().nullable(),
  created_at: z.date(),
  updated_at: z.date(),
}

/** An email as GET /emails shows it (contract 3.3). */
export const ListedEmail = z.object(listed)
export type ListedEmail = z.infer<typeof ListedEmail>

const columns = sql.fragment`
  'email' AS object, e.id, e.domain_id, '<' || e.message_id || '>' AS message_id, e.sender AS "from", e."to", e.cc,
  e.bcc, e.reply_to, e.subject, e.status, e.last_event, e.tags, NULL AS topic_id, NULL AS template_id,
  NULL AS campaign_id, NULL AS automation_id, NULL AS contact_id, e.scheduled_at, e.sent_at, e.created_at, e.updated_at
`

export async function listEmails(db: Queryable, account_id: string, position: Position): Promise<Page<ListedEmail>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedEmail)`
      SELECT ${columns} FROM emails e WHERE e.account_id = ${account_id} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

const timestamp = z.string().transform(text => new Date(text))

/** Why a recipient has not got it yet (contract 3.4). */
const QueueEntry = z.object({
  recipient: z.string(),
  state: z.enum(['queued', 'sending', 'in_doubt', 'held']),
  reason: z.string(),
  attempts: z.int(),
  next_attempt_at: timestamp.nullable(),
  last_reply: z.string().nullable(),
})

const Event = z.looseObject({ type: z.string(), created_at: timestamp })

/** An email as GET /emails/:id shows it (contract 3.4). `queue` is absent once every recipient is settled. */
export const Email = z.object({
  ...listed,
  html: z.string().nullable(),
  text: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  events: z.array(Event),
  attachments: z.array(z.never()),
  queue: z
    .array(QueueEntry)
    .nullable()
    .transform(entries => entries ?? undefined),
})
export type Email = z.infer<typeof Email>

export async function findEmail(db: Queryable, account_id: string, id: string): Promise<Email | null> {
  return db.maybeOne(sql.type(Email)`
    SELECT ${columns}, c.html, c.text, c.headers, '[]'::jsonb AS attachments,
      (
        SELECT coalesce(jsonb_agg(
          jsonb_strip_nulls(jsonb_build_object('type', v.type, 'created_at', v.created_at, 'recipient', v.recipient))
          || v.data ORDER BY v.id
        ), '[]')
        FROM email_events v WHERE v.account_id = e.account_id AND v.email_id = e.id
      ) AS events,
      (
        SELECT jsonb_agg(jsonb_build_object(
          'recipient', d.recipient,
          'state', CASE WHEN d.state = 'in_doubt' AND d.next_at IS NULL THEN 'held' ELSE d.state END,
          'reason', coalesce(d.reason, CASE
            WHEN d.state = 'sending' THEN 'A worker has it.'
            WHEN d.state = 'in_doubt' THEN 'The receiver never answered the end of the message.'
            WHEN d.next_at > now() THEN 'It is not due yet.'
            ELSE 'It is due and waits for a worker.'
          END),
          'attempts', d.attempt,
          'next_attempt_at', d.next_at,
          'last_reply', d.last_reply
        ) ORDER BY d.id)
        FROM deliveries d
        WHERE d.email_id = e.id AND d.account_id = e.account_id AND d.state IN ('queued', 'sending', 'in_doubt')
      ) AS queue
    FROM emails e JOIN email_contents c ON c.account_id = e.account_id AND c.email_id = e.id
    WHERE e.account_id = ${account_id} AND e.id = ${id}
  `)
}

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

export async function listEmailsToSend(
  db: Queryable,
  ids: { account_id: string; id: string }[],
): Promise<EmailToSend[]> {
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
