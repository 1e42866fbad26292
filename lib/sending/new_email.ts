import { z } from 'zod'
import { now } from '#lib/clock.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { MAX_HEADERS, validateHeaders } from '#lib/mail/headers.ts'
import { addresses, From, Subject } from '#lib/mail/mail_fields.ts'
import { NewPoll, type PollForm } from '#lib/polls/new_poll.ts'
import { Alias, TemplateRef, Variables } from '#lib/templates/variables.ts'
import { clip, counted, record, refuse, requireOne } from '#lib/zod_fields.ts'
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

const HTML = 'HTML part.'
export const SCHEDULED_AT =
  'When to send it: an ISO 8601 timestamp, or a phrase such as `in 2 hours` or `tomorrow at 9am` (UTC), at most 30 days ahead.'

const MOMENT = 'must be an ISO 8601 timestamp or a phrase such as "in 2 hours" or "tomorrow at 9am"'

/**
 * Relative to the database's clock. Times that are past or too far ahead are rejected later, after the Idempotency-Key was
 * checked: a retry must get the first response even if its time has passed.
 */
export const ScheduledAt = z
  .string()
  .transform((text, context) => readSchedule(text, now()) ?? refuse(context, 'validation_error', MOMENT))

const tracking = (what: string, field: string) =>
  z.boolean().nullish().describe(`Counts ${what}. Default: \`${field}\` of the domain. Needs \`html\`.`)

const Tag = z.object({
  name: token.describe('1 to 256 letters, digits, `_` or `-`.'),
  value: token.describe('The same.'),
})

const TOPIC = 'Id of a topic. Recipients who are not subscribed to it are dropped; the others get unsubscribe headers.'

export const POLL =
  'A question to its recipients, in place of `{{poll}}` or at the end. `{{poll_url:<key>}}` is the link of an option. Default: a poll whose options are the keys of such placeholders, if there are any.'

/** A complete email, with nothing left to fill in. `template_id` says where its parts came from. */
export const CompleteEmail = z.object({
  from: From.describe('Sender: `email@domain` or `Name <email@domain>`, at a domain of the account that can send.'),
  to: recipients(1).describe('1 to 50 recipients: a list of `email@domain` or `Name <email@domain>`, or a single one.'),
  subject: Subject.describe('One line of up to 998 characters.'),
  html: z.string().nullish().describe(HTML),
  text: z
    .string()
    .nullish()
    .describe('Plain-text part. Default: derived from `html`. An empty string: no plain-text part.'),
  cc: recipients().nullish().describe('Up to 50 recipients of copies, like `to`.'),
  bcc: recipients().nullish().describe('Up to 50 recipients of copies that the others do not see, like `to`.'),
  reply_to: addresses('validation_error').nullish().describe('Up to 50 addresses that replies go to, like `to`.'),
  headers: counted(0, MAX_HEADERS, 'headers', headers.nullish()).describe(
    'Up to 100 additional headers. Those that Mailbrook writes itself are rejected, such as `From`, `Date` and `Message-ID`.',
  ),
  tags: counted(0, MAX_TAGS, 'tags', z.array(Tag).nullish()).describe('Up to 50 tags, by which emails can be found.'),
  attachments: NewAttachments.nullish().describe('Up to 100 files: each at most 25 MiB, all together at most 40 MiB.'),
  scheduled_at: ScheduledAt.nullish().describe(SCHEDULED_AT),
  template_id: z.guid().nullish(),
  topic_id: z.guid().nullish().describe(TOPIC),
  track_opens: tracking('opens', 'open_tracking'),
  track_clicks: tracking('clicks on links', 'click_tracking'),
  // Null, which requests cannot give, marks mail whose author does not know our placeholders, so it has no poll.
  poll: NewPoll.nullish()
    .transform((poll): PollForm | null | undefined => poll ?? undefined)
    .optional()
    .describe(POLL),
})
export type CompleteEmail = z.output<typeof CompleteEmail>

const Template = z
  .object({
    id: TemplateRef.nullish().describe('Id or alias of the template. Give either `id` or `alias`.'),
    alias: Alias.nullish().describe('Alias of the template.'),
    variables: Variables.describe('Values of variables by key. Those of the email take precedence.'),
  })
  .superRefine(requireOne('id', 'alias'))
  .meta({ id: 'TemplateOfEmail' })

const html = z
  .unknown()
  .transform((value, context): string | LongHtml | null | undefined => {
    if (typeof value === 'string' || value instanceof LongHtml) return value
    if (value === undefined || value === null) return value
    context.addIssue({ code: 'invalid_type', expected: 'string', input: value })
    return z.NEVER
  })
  .optional()
  .meta({ type: ['string', 'null'], description: HTML })

/** The body of POST /emails. Checks its shape only, nothing that depends on rows or time. */
export const NewEmail = withTwins(
  CompleteEmail.extend({
    from: From.nullish().describe(`${CompleteEmail.shape.from.description} Required unless a template has one.`),
    subject: Subject.nullish().describe('One line of up to 998 characters. Required unless a template has one.'),
    html,
    template_id: TemplateRef.nullish().describe('Id or alias of a published template. Excludes `html` and `text`.'),
    template: Template.nullish().describe(
      'A published template, in place of `template_id`. Excludes `html` and `text`.',
    ),
    variables: Variables.describe(
      'Up to 50 values for placeholders by key: strings of up to 2,000 characters, or numbers.',
    ),
  }).superRefine(checkTogether, { when: () => true }),
).meta({ id: 'NewEmail' })
export type NewEmail = z.output<typeof NewEmail>

/** The body of PATCH /emails/:id. */
export const Reschedule = withTwins(z.object({ scheduled_at: ScheduledAt.describe(SCHEDULED_AT) })).meta({
  id: 'Reschedule',
})

/**
 * Checks fields against each other: with a template `from` and `subject` may be missing, and `html` and `text` must be. Runs even
 * if a field is wrong by itself, since missing fields are reported first.
 */
function checkTogether(email: Record<string, unknown> | null, context: z.RefinementCtx): void {
  if (context.issues.some(({ path }) => !path?.length)) return // not an object
  const isGiven = (field: string) => email?.[field] !== undefined && email[field] !== null
  const isRefused = (field: string) => context.issues.some(({ path }) => path?.[0] === field)
  const templates = ['template_id', 'template'].filter(field => isGiven(field) || isRefused(field))
  if (templates.length === 0) {
    // Missing fields come first, in the order of the fields, before wrong ones.
    const missing = ['from', 'subject'].filter(field => !isGiven(field) && !isRefused(field))
    const issue = { code: 'invalid_type', expected: 'string' } as const
    context.issues.unshift(...missing.map(field => ({ ...issue, path: [field], input: email?.[field] })))
  }
  const others = templates.length === 2 ? ['template'] : templates.length === 1 ? ['html', 'text'].filter(isGiven) : []
  for (const field of others) {
    context.addIssue({ code: 'custom', path: [field], message: `cannot be combined with \`${templates[0]}\`` })
  }
}
