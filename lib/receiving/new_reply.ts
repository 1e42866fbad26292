import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { From, Subject } from '#lib/mail/mail_fields.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { refuseWhole } from '#lib/zod_fields.ts'

const THREADING = /^(?:in-reply-to|references)$/i

/** Fields of a reply or a forwarded message that are the same as for any email. */
const fields = CompleteEmail.pick({
  html: true,
  text: true,
  cc: true,
  bcc: true,
  reply_to: true,
  headers: true,
  tags: true,
  scheduled_at: true,
  track_opens: true,
  track_clicks: true,
}).extend({ subject: Subject.nullish().describe('One line of up to 998 characters. Default: from the original.') })

/** The body of POST /emails/receiving/:id/reply. */
export const NewReply = withTwins(
  fields
    .extend({
      from: CompleteEmail.shape.from,
      attachments: CompleteEmail.shape.attachments,
      reply_all: z
        .boolean()
        .nullish()
        .describe('Send it to the other recipients of the original as well. Default: `false`.'),
    })
    .superRefine(requireContent, { when: () => true })
    .superRefine(({ headers }, context) => {
      const name = Object.keys(headers ?? {}).find(name => THREADING.test(name))
      if (name) context.addIssue({ code: 'custom', path: ['headers'], message: `has "${name}", which the reply sets` })
    }),
).meta({ id: 'NewReply' })
export type NewReply = z.output<typeof NewReply>

/** The body of POST /emails/receiving/:id/forward. `html` and `text` are a note. */
export const NewForward = withTwins(
  fields
    .extend({
      from: From.nullish().describe('Sender. Default: the address that received the original.'),
      to: CompleteEmail.shape.to,
      passthrough: z
        .boolean()
        .nullish()
        .describe(
          '`true` (default): send its content and files. `false`: attach it, below `html` or `text` of your own.',
        ),
    })
    .superRefine((forward, context) => {
      if (forward.passthrough === false || !(forward.html || forward.text)) return
      refuseWhole(context, 'validation_error', 'A note in `html` or `text` needs `passthrough` to be `false`.')
    }),
).meta({ id: 'NewForward' })
export type NewForward = z.output<typeof NewForward>

/**
 * Requires html or text. The issue comes before those about invalid fields, like all about missing fields, but after those about
 * a single missing field.
 */
function requireContent(reply: { html?: unknown; text?: unknown } | null, context: z.RefinementCtx): void {
  if (context.issues.some(({ path }) => !path?.length)) return // not an object
  if (reply?.html || reply?.text) return
  context.issues.unshift({ code: 'custom', params: { missing: ['html', 'text'] }, input: reply })
}
