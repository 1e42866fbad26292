import { z } from 'zod'
import { validateAttachment } from './attachment.ts'
import { atMost, refuse } from './fields.ts'
import { UploadedContent, WrongContent } from './uploaded_content.ts'

/** Bytes of one file are bounded where it is decoded (lib/base64_decoder.ts). */
export const MAX_ATTACHMENTS_BYTES = 40 * 1024 * 1024
const MAX_ATTACHMENTS = 100
const MAX_PATH = 2_048

/** What stood there was decoded while the body was read. */
const content = z.unknown().transform((value, context): UploadedContent | null => {
  if (value instanceof UploadedContent) return value
  if (value === undefined || value === null) return null
  const reason = value instanceof WrongContent ? value.fault : 'must be base64 text'
  return refuse(context, 'validation_error', `Invalid \`content\` field: it ${reason}.`)
})

const NewAttachment = z
  .object({
    filename: z.string(),
    content: content.optional(),
    path: z.string().max(MAX_PATH).nullish(),
    content_type: z.string().nullish(),
    content_disposition: z.enum(['attachment', 'inline']).nullish(),
    content_id: z.string().nullish(),
  })
  .superRefine((attachment, context) => {
    if (!attachment.content === !attachment.path) {
      refuse(context, 'invalid_attachment', 'An attachment must have either `content` or `path`.')
    }
    const refused = validateAttachment(attachment)
    if (refused) context.addIssue({ code: 'custom', path: [refused.field], message: refused.reason })
  })
export type NewAttachment = z.output<typeof NewAttachment>

const list = z
  .array(NewAttachment)
  .refine(
    files => files.reduce((sum, { content }) => sum + (content?.size ?? 0), 0) <= MAX_ATTACHMENTS_BYTES,
    `together larger than ${MAX_ATTACHMENTS_BYTES} bytes`,
  )

/** The `attachments` of a send (contract 3.1). What a path may point to is for the policy of fetching to say. */
export const NewAttachments = atMost(MAX_ATTACHMENTS, 'attachments', list)
