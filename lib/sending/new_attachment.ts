import { z } from 'zod'
import { UploadedContent, WrongContent } from '#lib/files/upload/uploaded_content.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { defaultFilename, validateAttachment } from '#lib/mail/attachment_limits.ts'
import { counted, refuse } from '#lib/zod_fields.ts'

/** All files together; the size of one file is limited where it is decoded (lib/files/upload/file_digest.ts). */
export const MAX_ATTACHMENTS_BYTES = 40 * 1024 * 1024
const MAX_ATTACHMENTS = 100
const MAX_PATH = 2_048

/** The content was decoded while the body was read. */
const content = z.unknown().transform((value, context): UploadedContent | null => {
  if (value instanceof UploadedContent) return value
  if (value === undefined || value === null) return null
  const reason = value instanceof WrongContent ? value.fault : 'must be base64: a string'
  return refuse(context, 'validation_error', reason)
})
const Content = content.optional().meta({
  ...{ type: ['string', 'null'], contentEncoding: 'base64' },
  description: 'The file in base64. Give either `content` or `path`. A list of its bytes, as numbers, is accepted too.',
})

/** With or without the angle brackets of a Content-ID field. */
const ContentId = z
  .string()
  .transform(id => id.replace(/^<(.*)>$/s, '$1'))
  .nullish()

const fields = z
  .object({
    filename: z.string().nullish().describe('Default: the last segment of `path`, or `attachment`.'),
    content: Content,
    path: z.string().max(MAX_PATH).nullish().describe('URL that the file is fetched from when the email is sent.'),
    content_type: z.string().nullish().describe('MIME type. Default: by the extension of the filename.'),
    content_disposition: z
      .enum(['attachment', 'inline'])
      .nullish()
      .describe('Default: `inline` with a `content_id`, else `attachment`.'),
    content_id: ContentId.describe('Lets the HTML show an image, as `cid:CONTENT_ID`.'),
    inline_content_id: ContentId.describe('An older name of `content_id` in libraries of Resend.'),
  })
  .superRefine((attachment, context) => {
    if (!attachment.content === !attachment.path) {
      refuse(context, 'invalid_attachment', 'must have either `content` or `path`')
    }
    const refused = validateAttachment(completed(attachment))
    if (refused) context.addIssue({ code: 'custom', path: [refused.field], message: refused.reason })
  })
const NewAttachment = withTwins(fields).transform(completed).meta({ id: 'NewAttachment' })
export type NewAttachment = z.output<typeof NewAttachment>

type Described = { filename?: string | null; path?: string | null; content_type?: string | null }
type Named = Described & { content_id?: string | null; inline_content_id?: string | null }

function completed<File extends Named>({ inline_content_id, ...file }: File) {
  return { ...file, content_id: file.content_id ?? inline_content_id, filename: filenameOf(file) }
}

function filenameOf({ filename, path, content_type }: Described): string {
  return filename ?? defaultFilename(path ?? null, content_type ?? null)
}

const list = z
  .array(NewAttachment)
  .refine(
    files => files.reduce((sum, { content }) => sum + (content?.size ?? 0), 0) <= MAX_ATTACHMENTS_BYTES,
    `must have at most ${MAX_ATTACHMENTS_BYTES.toLocaleString('en')} bytes together`,
  )

/** The `attachments` of a send. The fetch policy decides later which URLs a path may have. */
export const NewAttachments = counted(0, MAX_ATTACHMENTS, 'attachments', list)
