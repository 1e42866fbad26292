import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { FIRST_ID } from '#lib/id_ranges.ts'
import { type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { ReceivedEmailId } from './received_emails.ts'

/** A file as its email and the list of its files show it. It has a download URL while it is stored. */
export const ReceivedAttachment = z
  .object({
    object: z.literal('attachment'),
    id: z.string(),
    filename: z.string().describe('Name of the file.'),
    content_type: z.string().describe('MIME type.'),
    content_disposition: z.enum(['attachment', 'inline']).describe('As the sender wrote it, or `attachment`.'),
    content_id: z.string().nullable().describe('Name that the HTML shows it by, as `cid:CONTENT_ID`.'),
    size: z.int().describe('Bytes.'),
    downloadable: z.boolean().describe('True while the file is stored.'),
    download_url: z.string().optional().describe('URL of the file. It needs the API key.'),
    url: z.string().optional().describe('The same without the host.'),
  })
  .meta({ id: 'ReceivedAttachment' })

export type ReceivedAttachment = z.infer<typeof ReceivedAttachment>

/** Returns the JSON of an attachment `a`. `base_url`: of the server; `url` goes without it. */
function attachmentObject(base_url: string): FragmentSqlToken {
  const path = sql.fragment`'/api/emails/receiving/' || a.received_email_id || '/attachments/' || a.id`
  return sql.fragment`
    jsonb_build_object('object', 'attachment', 'id', a.id, 'filename', a.filename, 'content_type', a.content_type,
      'content_disposition', a.content_disposition, 'content_id', a.content_id, 'size', a.size,
      'downloadable', a.blob_id IS NOT NULL
    ) || CASE WHEN a.blob_id IS NULL THEN '{}' ELSE jsonb_build_object('download_url', ${base_url} || ${path}, 'url', ${path})
    END
  `
}

/** Returns the attachments of an email `r` in order, at most `limit`; null if there are none. */
export function attachmentsOf(base_url: string, limit?: number): FragmentSqlToken {
  return sql.fragment`
    (
      SELECT jsonb_agg(${attachmentObject(base_url)} ORDER BY a.position) FROM (
        SELECT * FROM received_attachments a WHERE a.account_id = r.account_id AND a.received_email_id = r.id
        ORDER BY a.position LIMIT ${limit ?? null}
      ) a
    )
  `
}

/** Number of attachments of an email `r`; null if there are none. */
export const attachmentsCount = sql.fragment`
  nullif((
    SELECT count(*) FROM received_attachments a WHERE a.account_id = r.account_id AND a.received_email_id = r.id
  ), 0)
`

/**
 * Lists attachments in the order of their ids, which is that of the message; not newest first, since all came together.
 */
export async function listReceivedAttachments(
  db: Queryable,
  { account_id, id }: ReceivedEmailId,
  { limit, after, before }: Position,
  base_url: string,
): Promise<Page<ReceivedAttachment>> {
  const mirrored = before ? { limit, after: before } : { limit, before: after ?? FIRST_ID }
  const page = await readHeavyPage(db, mirrored, {
    type: z.object({ attachment: ReceivedAttachment }),
    ids: (where, order, limit) => sql.fragment`
      SELECT id FROM received_attachments
      WHERE account_id = ${account_id} AND received_email_id = ${id} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `,
    row: attachment_id => sql.fragment`
      SELECT ${attachmentObject(base_url)} AS attachment FROM received_attachments a
      WHERE a.account_id = ${account_id} AND a.id = ${attachment_id}
    `,
  })
  return { ...page, data: page.data.map(row => row.attachment).reverse() }
}

const StoredFile = z.object({
  filename: z.string(),
  content_type: z.string(),
  charset: z.string().nullable(),
  blob_id: z.string(),
  size: z.int(),
})

/** Finds a file with its type and blob; null also if it is no longer stored. */
export async function findReceivedAttachment(
  db: Queryable,
  email: ReceivedEmailId,
  attachment_id: string,
): Promise<z.infer<typeof StoredFile> | null> {
  return db.maybeOne(sql.type(StoredFile)`
    SELECT a.filename, a.content_type, a.charset, a.blob_id, b.size
    FROM received_attachments a JOIN blobs b ON b.account_id = a.account_id AND b.id = a.blob_id
    WHERE a.account_id = ${email.account_id} AND a.received_email_id = ${email.id} AND a.id = ${attachment_id}
  `)
}

export type ParsedAttachment = {
  id: string
  filename: string
  content_type: string
  charset: string | null
  content_disposition: 'attachment' | 'inline'
  content_id: string | null
  size: number
  blob_id: string | null
}

export async function insertReceivedAttachments(
  tx: Tx,
  { account_id, id }: ReceivedEmailId,
  attachments: ParsedAttachment[],
): Promise<void> {
  if (attachments.length === 0) return
  await tx.run(sql.unsafe`
    INSERT INTO received_attachments (account_id, id, received_email_id, position, filename, content_type, charset,
      content_disposition, content_id, size, blob_id)
    SELECT ${account_id}, a.id, ${id}, a.position, a.filename, a.content_type, a.charset, a.content_disposition, a.content_id,
      a.size, a.blob_id
    FROM ROWS FROM (json_to_recordset(${JSON.stringify(attachments)}::json) AS (id uuid, filename text, content_type text,
      charset text, content_disposition text, content_id text, size integer, blob_id uuid)) WITH ORDINALITY
      AS a(id, filename, content_type, charset, content_disposition, content_id, size, blob_id, position)
  `)
}
