import type { ValueExpression } from '@slonik/sql-tag'
import { z } from 'zod'
import type { ApiError } from '#lib/errors.ts'
import { encodeJson } from '#lib/json/write_json.ts'
import type { PollForm } from '#lib/polls/new_poll.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { Fault, FaultDetail } from './faults.ts'

/** One recipient of a draft. Its id is generated in Node, so that rows, children and the job fit into one statement. */
export type DraftRecipient = {
  id: string
  recipient: string
  destination: string
  visible_in: 'to' | 'cc' | 'bcc'
  reserved: boolean
  simulated: boolean
}

/** An attachment of a draft. Its content is in a blob, or at a path until it is sent. */
export type DraftAttachment = {
  id: string
  filename: string
  content_type: string
  content_disposition: 'attachment' | 'inline'
  content_id: string | null
  path: string | null
  blob_id: string | null
}

/** The JSON that sql/sending/accept/accept_emails.sql takes. `key`, with its route and hex fingerprint, may be null. */
export type Draft = {
  account_id: string
  id: string
  /** Why it cannot be sent, if known before: it may only replay the answer of its key. */
  refusal: ApiError | null
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
  /** As they were given; null if they are in the content of `content_id`. */
  html: string | null
  text: string | null
  content_id?: string | undefined
  /** Values that are inserted when it is sent; without them `html` and `text` are sent as they are. */
  variables?: Record<string, string> | undefined
  /** Bytes of html and text with these values. */
  rendered_size?: number | undefined
  /** Version of the code that renders the parts (lib/contents/compile_content.ts); none: they are sent as they are. */
  renderer?: number | undefined
  template_id: string | null
  topic_id: string | null
  /** Lower numbers are sent first. Default: 0; campaigns and marketing automations have 10. */
  priority?: 0 | 10
  /** None: as set for the domain. */
  track_opens?: boolean | null
  track_clicks?: boolean | null
  /** The poll that its links answer. `poll`: a new poll to store with it; otherwise the poll is stored already. */
  poll_id?: string | undefined
  poll?: PollForm & { is_test: boolean }
  /** An email of a campaign or an automation has only this contact as recipient. */
  campaign_id?: string
  campaign_run?: number
  automation_id?: string
  automation_version?: number
  contact_id?: string
  scheduled_at: Date | null
  attachments: DraftAttachment[]
  recipients: DraftRecipient[]
}

const Accepted = z.object({
  position: z.int(),
  outcome: z.enum(['accepted', 'replayed', 'key_conflict', ...Fault.options]),
  answer: z.object({ id: z.string() }).nullable(),
  /** Seconds until there is room, for `reputation_limit_exceeded`. */
  retry_after: z.int().nullable(),
  detail: FaultDetail.nullable(),
})
export type Accepted = z.infer<typeof Accepted>

/** Stores drafts in one round trip and, outside a transaction, one commit; returns one outcome per draft, in order. */
export async function insertEmails(db: Queryable, drafts: Draft[]): Promise<Accepted[]> {
  return db.any(sql.prepared('accept_emails', Accepted)`
    SELECT position, outcome, answer, retry_after, detail FROM accept_emails(${await draftsJson(drafts)}::json) ORDER BY position
  `)
}

/** Characters of text and html above which drafts are encoded piece by piece, which takes a little longer. */
const LONG = 256 * 1024

/**
 * Returns drafts with their positions in the form that the SQL functions take. The bytes of a JSON text are its binary
 * format too.
 */
export async function draftsJson(drafts: Draft[]): Promise<ValueExpression> {
  const positioned = drafts.map((draft, position) => ({ position, ...draft }))
  const length = drafts.reduce((sum, { html, text }) => sum + (html?.length ?? 0) + (text?.length ?? 0), 0)
  return length < LONG ? JSON.stringify(positioned) : sql.binary(await encodeJson(positioned))
}

/** Returns which of these ids are stored; used after a commit whose response was lost. */
export async function listStoredEmails(db: Queryable, ids: string[]): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT id FROM emails WHERE (account_id, id) IN (
      SELECT account_id, email_id FROM deliveries WHERE email_id = ANY(${sql.array(ids, 'uuid')})
    )
  `)
  return rows.map(row => row.id)
}
