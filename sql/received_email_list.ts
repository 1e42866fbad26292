import { z } from 'zod'
import { type Page, type Position, readPage } from './page.ts'
import { type Queryable, sql } from './pool.ts'

/** What is absent is left out, and not null. */
function absent<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullable().transform(value => value ?? undefined)
}

const ReceivedAttachment = z.object({
  id: z.string(),
  filename: z.string(),
  content_type: z.string(),
  content_disposition: z.enum(['attachment', 'inline']),
  content_id: z.string().nullable(),
  size: z.int(),
  downloadable: z.boolean(),
  download_url: z.string().optional(),
  url: z.string().optional(),
})

/** As it is listed: the specification's received_email but html, text and headers. */
export const ListedReceivedEmail = z.object({
  object: z.literal('received_email'),
  id: z.string(),
  domain_id: z.string().nullable(),
  to: z.array(z.string()),
  from: z.string(),
  from_name: z.string().nullable(),
  subject: z.string(),
  cc: absent(z.array(z.string())),
  bcc: absent(z.array(z.string())),
  reply_to: absent(z.array(z.string())),
  received_for: absent(z.array(z.string())),
  message_id: absent(z.string()),
  category: z.string().nullable(),
  reply_to_email_id: z.string().nullable(),
  read: z.boolean(),
  read_at: z.date().nullable(),
  spf: absent(z.string()),
  verdicts: absent(z.record(z.string(), z.string())),
  raw_available: z.boolean(),
  raw: absent(z.object({ download_url: z.string() })),
  raw_url: absent(z.string()),
  attachments: absent(z.array(ReceivedAttachment)),
  parse_error: absent(z.string()),
  created_at: z.date(),
})
export type ListedReceivedEmail = z.infer<typeof ListedReceivedEmail>

export const ReceivedEmail = ListedReceivedEmail.extend({
  html: absent(z.string()),
  text: absent(z.string()),
  headers: absent(z.record(z.string(), z.string())),
})
export type ReceivedEmail = z.infer<typeof ReceivedEmail>

/** `base_url`: of the server; the relative aliases go without it. */
function columns(base_url: string) {
  const path = sql.fragment`'/api/emails/receiving/' || r.id`
  return sql.fragment`
    'received_email' AS object, r.id, r.domain_id, r."to", r.sender AS "from", r.from_name, r.subject,
    nullif(r.cc, '{}') AS cc, nullif(r.bcc, '{}') AS bcc, nullif(r.reply_to, '{}') AS reply_to,
    nullif(r.received_for, '{}') AS received_for, r.message_id, r.category, r.reply_to_email_id,
    r.read_at IS NOT NULL AS read, r.read_at, r.spf, r.verdicts, r.raw_blob_id IS NOT NULL AS raw_available,
    CASE WHEN r.raw_blob_id IS NOT NULL THEN jsonb_build_object('download_url', ${base_url} || ${path} || '/raw') END AS raw,
    CASE WHEN r.raw_blob_id IS NOT NULL THEN ${path} || '/raw' END AS raw_url,
    (
      SELECT jsonb_agg(jsonb_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type,
        'content_disposition', a.content_disposition, 'content_id', a.content_id, 'size', a.size,
        'downloadable', a.blob_id IS NOT NULL
      ) || CASE WHEN a.blob_id IS NULL THEN '{}' ELSE jsonb_build_object(
        'download_url', ${base_url} || ${path} || '/attachments/' || a.id, 'url', ${path} || '/attachments/' || a.id
      ) END ORDER BY a.position)
      FROM received_attachments a WHERE a.account_id = r.account_id AND a.received_email_id = r.id
    ) AS attachments, r.parse_error, r.created_at
  `
}

export async function listReceivedEmails(
  db: Queryable,
  account_id: string,
  position: Position,
  base_url: string,
): Promise<Page<ListedReceivedEmail>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedReceivedEmail)`
      SELECT ${columns(base_url)} FROM received_emails r
      WHERE account_id = ${account_id} AND state <> 'stored' AND kind = 'email' AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findReceivedEmail(
  db: Queryable,
  account_id: string,
  id: string,
  base_url: string,
): Promise<ReceivedEmail | null> {
  return db.maybeOne(sql.type(ReceivedEmail)`
    SELECT ${columns(base_url)}, c.html, c.text, nullif(c.headers, '{}') AS headers
    FROM received_emails r
    LEFT JOIN received_contents c ON c.account_id = r.account_id AND c.received_email_id = r.id
    WHERE r.account_id = ${account_id} AND r.id = ${id} AND r.state <> 'stored'
  `)
}

const Raw = z.object({ raw_blob_id: z.string(), size: z.int() })

/** Where its raw message lies, while that is kept. */
export async function findRaw(db: Queryable, account_id: string, id: string): Promise<z.infer<typeof Raw> | null> {
  return db.maybeOne(sql.type(Raw)`
    SELECT raw_blob_id, size FROM received_emails
    WHERE account_id = ${account_id} AND id = ${id} AND raw_blob_id IS NOT NULL
  `)
}
