import { z } from 'zod'
import type { BlobId } from '#sql/files/blobs.ts'
import { type Queryable, sql } from '#sql/pool.ts'

// emails.ts imports this file, so its EmailId is not imported here.
type EmailId = { account_id: string; id: string }

/** An attachment as its email shows it. `size`: null until it is fetched from its path. */
export const ListedAttachment = z
  .object({
    id: z.string(),
    filename: z.string().describe('Name of the file.'),
    content_type: z.string().describe('MIME type.'),
    content_disposition: z.enum(['attachment', 'inline']).describe('`inline`: shown within the content.'),
    content_id: z.string().nullable().describe('Name that the HTML shows it by, as `cid:CONTENT_ID`.'),
    size: z.int().nullable().describe('Bytes; null until a file with a `path` is fetched.'),
  })
  .meta({ id: 'ListedAttachment' })

/** A single attachment. */
export const Attachment = z
  .object({
    object: z.literal('attachment'),
    ...ListedAttachment.shape,
    download_url: z.string().describe('URL of the file. It needs the API key.'),
  })
  .meta({ id: 'Attachment' })
export type Attachment = z.infer<typeof Attachment>

/** Lists the attachments of an email. `api_url`: prefix of the download URLs. */
export async function listAttachments(
  db: Queryable,
  { account_id, id }: EmailId,
  api_url: string,
): Promise<Attachment[]> {
  return db.any(sql.type(Attachment)`
    SELECT 'attachment' AS object, a.id, a.filename, a.content_type, a.content_disposition, a.content_id, b.size,
      ${api_url} || '/emails/' || a.email_id || '/attachments/' || a.id || '/content' AS download_url
    FROM attachments a LEFT JOIN blobs b ON b.account_id = a.account_id AND b.id = a.blob_id
    WHERE a.account_id = ${account_id} AND a.email_id = ${id} ORDER BY a.position
  `)
}

const Stored = z.object({ filename: z.string(), content_type: z.string(), blob_id: z.string(), size: z.int() })

/** Finds the content type and the blob of an attachment; null also while it is not fetched yet. */
export async function findStoredAttachment(
  db: Queryable,
  email: EmailId,
  attachment_id: string,
): Promise<z.infer<typeof Stored> | null> {
  return db.maybeOne(sql.type(Stored)`
    SELECT a.filename, a.content_type, a.blob_id, b.size
    FROM attachments a JOIN blobs b ON b.account_id = a.account_id AND b.id = a.blob_id
    WHERE a.account_id = ${email.account_id} AND a.email_id = ${email.id} AND a.id = ${attachment_id}
  `)
}

/**
 * Stores the blob of an attachment, unless it has one: if two workers fetch it at the same time, the first counts, and
 * every attempt sends that blob.
 */
export async function setAttachmentBlob(
  db: Queryable,
  attachment: BlobId,
  blob_id: string,
): Promise<BlobId & { size: number }> {
  const { account_id, id } = attachment
  return db.one(sql.type(z.object({ account_id: z.string(), id: z.string(), size: z.int() }))`
    WITH changed AS (
      UPDATE attachments SET blob_id = coalesce(blob_id, ${blob_id}) WHERE account_id = ${account_id} AND id = ${id}
      RETURNING account_id, blob_id
    )
    SELECT b.account_id, b.id, b.size FROM changed c JOIN blobs b ON b.account_id = c.account_id AND b.id = c.blob_id
  `)
}
