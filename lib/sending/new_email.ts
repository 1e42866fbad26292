import { z } from 'zod'
import { now } from '#lib/clock.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { MAX_HEADERS, validateHeaders } from '#lib/mail/headers.ts'
import { addresses, From, Subject } from '#lib/mail/mail_fields.ts'
import { Alias, TemplateRef, Variables } from '#lib/templates/variables.ts'
import { clip, counted, record, refuse } from '#lib/zod_fields.ts'
import { LongHtml } from './long_html.ts'
import { NewAttachments } from './new_attachment.ts'
import { readSchedule } from './schedule.ts'

const MAX_TAGS = 50

const recipients = (min = 0) => addresses('invalid_to_address', { min })

const token = z.string().regex(/^[A-Za-z0-9_-]{1,256}$/, 'must be 1 to 256 letters, digits, `_` or `-`')

const headers = record(z.string()).superRefine((given, context) => {
  const refused = validateHeaders(given)
  if (refused) context.addIssue({ code: 'custom', message: `has ${clip(refused.name)}, which ${refused.reason}` })
})

const MOMENT = 'must be an ISO 8601 timestamp or a phrase such as "in 2 hours" or "tomorrow at 9am"'

/** By the database's clock. A moment that cannot be is refused later, after the Idempotency-Key (contract 1). */
const ScheduledAt = z
  .string()
  .transform((text, context) => readSchedule(text, now()) ?? refuse(context, 'validation_error', MOMENT))

/** Fields of the contract that this version does not know yet. To ignore them would send something else than asked. */
const notYet = z.null('is not supported yet').optional()

/** An email that asks to be tracked would go out untracked. */
const tracking = z
  .boolean()
  .refine(is_on => !is_on, 'cannot be `true` yet: tracking is not available')
  .nullish()

/** An email as it is to be sent: nothing is left to be filled in. `template_id` tells where its parts came from. */
export const CompleteEmail = z.object({
  from: From,
  to: recipients(1),
  subject: Subject,
  html: z.string().nullish(),
  text: z.string().nullish(),
  cc: recipients().nullish(),
  bcc: recipients().nullish(),
  reply_to: addresses('validation_error').nullish(),
  headers: counted(0, MAX_HEADERS, 'headers', headers.nullish()),
  tags: counted(0, MAX_TAGS, 'tags', z.array(z.object({ name: token, value: token })).nullish()),
  attachments: NewAttachments.nullish(),
  scheduled_at: ScheduledAt.nullish(),
  template_id: z.guid().nullish(),
  topic_id: z.guid().nullish(),
  track_opens: tracking,
  track_clicks: tracking,
  poll: notYet,
})
export type CompleteEmail = z.output<typeof CompleteEmail>

const Template = z
  .object({ id: TemplateRef.nullish(), alias: Alias.nullish(), variables: Variables })
  .refine(({ id, alias }) => ((id ?? null) === null) !== ((alias ?? null) === null), 'must have either `id` or `alias`')
  .meta({ id: 'EmailTemplate' })

const html = z
  .unknown()
  .transform((value, context): string | LongHtml | null | undefined => {
    if (typeof value === 'string' || value instanceof LongHtml) return value
    if (value === undefined || value === null) return value
    context.addIssue({ code: 'invalid_type', expected: 'string', input: value })
    return z.NEVER
  })
  .optional()
  .meta({ type: ['string', 'null'] })

/** The body of POST /emails: its shape only, nothing that depends on rows or time (contract 3.1). */
export const NewEmail = withTwins(
  CompleteEmail.extend({
    from: From.nullish(),
    subject: Subject.nullish(),
    html,
    template_id: TemplateRef.nullish(),
    template: Template.nullish(),
    variables: Variables,
  }).superRefine(checkTogether, { when: () => true }),
).meta({ id: 'NewEmail' })
export type NewEmail = z.output<typeof NewEmail>

/** The body of PATCH /emails/:id (contract 3.5). */
export const Reschedule = withTwins(z.object({ scheduled_at: ScheduledAt })).meta({ id: 'Reschedule' })

/**
 * What fields ask of each other: with a template `from` and `subject` may be missing, and `html` and `text` must be. Asked
 * even when a field is wrong by itself, since what is missing is told first.
 */
function checkTogether(email: Record<string, unknown> | null, context: z.RefinementCtx): void {
  if (context.issues.some(({ path }) => !path?.length)) return // it is no object
  const isGiven = (field: string) => email?.[field] !== undefined && email[field] !== null
  const isRefused = (field: string) => context.issues.some(({ path }) => path?.[0] === field)
  const templates = ['template_id', 'template'].filter(field => isGiven(field) || isRefused(field))
  if (templates.length === 0) {
    // First of all, in the order of the fields: what is missing is told before what is wrong.
    const missing = ['from', 'subject'].filter(field => !isGiven(field) && !isRefused(field))
    const issue = { code: 'invalid_type', expected: 'string' } as const
    context.issues.unshift(...missing.map(field => ({ ...issue, path: [field], input: email?.[field] })))
  }
  const others = templates.length === 2 ? ['template'] : templates.length === 1 ? ['html', 'text'].filter(isGiven) : []
  for (const field of others) {
    context.addIssue({ code: 'custom', path: [field], message: `cannot be combined with \`${templates[0]}\`` })
  }
}
