import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { addresses, From } from '#lib/mail/mail_fields.ts'
import { NewPoll } from '#lib/polls/new_poll.ts'
import { POLL, SCHEDULED_AT, ScheduledAt } from '#lib/sending/new_email.ts'
import { TemplateRef } from '#lib/templates/variables.ts'
import { NAME_LINE } from '#lib/zod_fields.ts'
import { NewAbTest } from './ab_test.ts'
import { contentFields, emptyIsNull } from './content_fields.ts'
import { timingFields } from './timing_fields.ts'

/** In characters. */
export const MAX_NAME = 255

const Id = z.guid().toLowerCase()
const FROM = 'Sender: `email@domain` or `Name <email@domain>`, at a domain of the account.'

const fields = {
  name: z
    .string()
    .max(MAX_NAME)
    .regex(NAME_LINE, 'must be one line')
    .nullish()
    .describe('Name for people: one line of up to 255 characters.'),
  audience_id: Id.nullish().describe(
    'Id of the audience that gets it. With `segment_id` too: contacts that are in both.',
  ),
  segment_id: Id.nullish().describe('Id of the segment that gets it, as it is when the campaign is sent.'),
  topic_id: Id.nullish().describe('Id of a topic. Only contacts who are subscribed to it get the campaign.'),
  reply_to: emptyIsNull(addresses('validation_error').nullish()).describe(
    'Up to 50 addresses that replies go to: a list, or a single one.',
  ),
  ...contentFields,
  template_id: TemplateRef.nullish().describe(
    'Id or alias of a template, published when the campaign is sent. Excludes `html` and `text`.',
  ),
  track_opens: z.boolean().nullish().describe('True if opens are tracked. Default: the setting of its domain.'),
  track_clicks: z.boolean().nullish().describe('True if clicks are tracked. Default: the setting of its domain.'),
  ab_test: NewAbTest.nullish().describe(
    'Tries 2 to 5 variants on some of the recipients; the rest gets the best. Null: no test.',
  ),
  ...timingFields,
  poll: NewPoll.nullish().describe(POLL),
}

const expected_recipients = z
  .int()
  .min(0)
  .nullish()
  .describe('Number of recipients that you expect. If it differs by more than a tenth, the campaign is not sent.')

/** The body of POST /campaigns. */
export const NewCampaign = withTwins(
  z
    .object({
      from: From.describe(FROM),
      ...fields,
      send: z
        .boolean()
        .nullish()
        .describe('`true` sends it immediately, or at `scheduled_at`. Default: it stays a draft.'),
      scheduled_at: ScheduledAt.nullish().describe(`${SCHEDULED_AT} Only with \`send\`.`),
      expected_recipients,
    })
    .superRefine(checkTogether, { when: () => true }),
).meta({ id: 'NewCampaign' })
export type NewCampaign = z.output<typeof NewCampaign>

/** The body of PATCH /campaigns/:id. Fields that are left out stay as they are; null clears one. */
export const CampaignChange = withTwins(z.object({ from: From.optional().describe(FROM), ...fields })).meta({
  id: 'CampaignChange',
})
export type CampaignChange = z.output<typeof CampaignChange>

/** The body of POST /campaigns/:id/send, which may be left out. */
export const CampaignSending = withTwins(
  z.object({ scheduled_at: ScheduledAt.nullish().describe(SCHEDULED_AT), expected_recipients }),
)
  .nullish()
  .meta({ id: 'CampaignSending' })
export type CampaignSending = NonNullable<z.output<typeof CampaignSending>>

/** The body of POST /campaigns/:id/duplicate, which may be left out. */
export const CampaignCopy = z
  .object({ name: fields.name.describe('Name of the copy. Default: `Copy of` and the name of the original.') })
  .nullish()
  .meta({ id: 'CampaignCopy' })

/** The body of POST /campaigns/:id/ab/winner. */
export const AbWinner = z.object({ variant: z.string().describe('Key of the variant.') }).meta({ id: 'AbWinner' })

const MAX_TESTERS = 10

/** The body of POST /campaigns/:id/test. */
export const CampaignTest = z
  .object({
    to: addresses('invalid_to_address', { min: 1, max: MAX_TESTERS }).describe(
      '1 to 10 addresses that get the campaign as it is now: a list, or a single one.',
    ),
  })
  .meta({ id: 'CampaignTest' })

/** Checks fields against each other, even if one is wrong by itself, and reports a missing subject first. */
function checkTogether(campaign: Record<string, unknown> | null, context: z.RefinementCtx): void {
  if (context.issues.some(({ path }) => !path?.length)) return // not an object
  const isGiven = (field: string) => campaign?.[field] !== undefined && campaign[field] !== null
  const isRefused = (field: string) => context.issues.some(({ path }) => path?.[0] === field)
  if (!isGiven('template_id') && !isGiven('subject') && !isRefused('subject') && !isRefused('template_id')) {
    context.issues.unshift({ code: 'invalid_type', expected: 'string', path: ['subject'], input: undefined })
  }
  if (isGiven('scheduled_at') && campaign?.send !== true) {
    context.addIssue({ code: 'custom', path: ['scheduled_at'], message: 'must come with `send`: true' })
  }
}
