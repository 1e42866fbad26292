import { z } from 'zod'
import { MAX_SUBJECT_LENGTH, ShownSubject } from '#lib/mail/mail_fields.ts'
import { LINE } from '#lib/zod_fields.ts'

const SUBJECT = 'One line of up to 998 characters; may have placeholders. Default: the subject of the template.'

export const emptyIsNull = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess(value => (value === '' ? null : value), schema)

/** Fields of a campaign or a variant that recipients see. */
export const contentFields = {
  subject: emptyIsNull(ShownSubject.nullish()).describe(SUBJECT),
  preview_text: emptyIsNull(z.string().max(MAX_SUBJECT_LENGTH).regex(LINE, 'must be one line').nullish()).describe(
    'Text that inboxes show beside the subject: one line of up to 998 characters.',
  ),
  html: z.string().nullish().describe('HTML part, with placeholders such as `{{first_name|friend}}`.'),
  text: z
    .string()
    .nullish()
    .describe('Plain-text part. Default: derived from `html`. An empty string: no plain-text part.'),
}
