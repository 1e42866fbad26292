import { z } from 'zod'
import { AbTest } from '#lib/campaigns/ab_test.ts'
import { Recurrence } from '#lib/campaigns/recurrence.ts'
import { PollForm } from '#lib/polls/new_poll.ts'
import { sql } from '#sql/pool.ts'

export const CampaignStatus = z.enum([
  'draft',
  'scheduled',
  'queued',
  'testing',
  'paused',
  'sent',
  'canceled',
  'failed',
])
export type CampaignStatus = z.infer<typeof CampaignStatus>

const TRACKED = 'null: as its domain says.'

const listed = {
  object: z.literal('campaign'),
  id: z.string(),
  name: z.string().describe('Name for people; may be empty.'),
  status: CampaignStatus.describe(
    '`queued`: it is being sent. `sent`: nothing of it is left to send. `failed`: `error` says why it was not sent.',
  ),
  domain_id: z.string().describe('Id of the domain of `from`.'),
  audience_id: z
    .string()
    .nullable()
    .describe('Id of the audience that gets it. With `segment_id` too: contacts that are in both.'),
  segment_id: z.string().nullable().describe('Id of the segment that gets it.'),
  topic_id: z.string().nullable().describe('Id of the topic to which its recipients are subscribed.'),
  from: z.string().describe('Sender.'),
  reply_to: z.array(z.string()).describe('Addresses that replies go to.'),
  subject: z.string().nullable().describe('Subject, with placeholders; null: that of the template.'),
  preview_text: z.string().nullable().describe('Text that inboxes show beside the subject.'),
  template_id: z.string().nullable().describe('Id of the template that its content comes from.'),
  track_opens: z.boolean().nullable().describe(`True if opens are tracked; ${TRACKED}`),
  track_clicks: z.boolean().nullable().describe(`True if clicks are tracked; ${TRACKED}`),
  ab_test: AbTest.nullable().describe('Its A/B test; null: none.'),
  recurrence: Recurrence.nullable().describe('How it recurs; null: it is sent once.'),
  recurrence_every: z.int().nullable().describe('Days, weeks or months from one run to the next.'),
  timezone: z.string().describe('IANA time zone of the time of day at which it is sent.'),
  send_in_local_time: z
    .boolean()
    .describe('True if each recipient gets it at this time of day in their own time zone.'),
  skip_if_mailed_within_hours: z
    .int()
    .nullable()
    .describe('Contacts who were sent a campaign within this many hours are left out; null: nobody is.'),
  exclude_unengaged_days: z
    .int()
    .nullable()
    .describe('Contacts who were sent campaigns for this many days and opened none are left out; null: nobody is.'),
  recipients_count: z
    .int()
    .describe(
      'Number of contacts that it is sent to in the latest run, without those who were left out. 0 until all are found.',
    ),
  scheduled_at: z
    .date()
    .nullable()
    .describe('When it is or was to be sent. For a recurring campaign: the next run, or the current one.'),
  started_at: z.date().nullable().describe('When sending began, in the latest run.'),
  sent_at: z.date().nullable().describe('When nothing of it was left to send, in the latest run.'),
  paused_at: z.date().nullable().describe('When it was paused.'),
  pause_reason: z.string().nullable().describe('Why it is paused, or why nothing of it is sent at the moment.'),
  error: z.string().nullable().describe('Why it failed.'),
  created_at: z.date(),
  updated_at: z.date(),
}

/** A campaign as GET /campaigns shows it. */
export const ListedCampaign = z.object(listed).meta({ id: 'ListedCampaign' })
export type ListedCampaign = z.infer<typeof ListedCampaign>

/** A campaign as GET /campaigns/:id shows it. */
export const Campaign = z
  .object({
    ...listed,
    html: z.string().nullable().describe('HTML part, with placeholders.'),
    text: z.string().nullable().describe('Plain-text part; null: derived from `html`.'),
    poll: PollForm.nullable().describe('Its poll; null: none.'),
  })
  .meta({ id: 'Campaign' })
export type Campaign = z.infer<typeof Campaign>

/** Select lists of queries from `campaigns g`. */
export const listedColumns = sql.fragment`
  'campaign' AS object, g.id, g.name, g.status, g.domain_id, g.audience_id, g.segment_id, g.topic_id, g.sender AS "from",
  g.reply_to, g.subject, g.preview_text, g.template_id, g.track_opens, g.track_clicks, g.ab_test, g.recurrence, g.recurrence_every,
  g.timezone, g.send_in_local_time, g.skip_if_mailed_within_hours, g.exclude_unengaged_days, g.recipients_count, g.scheduled_at, g.started_at, g.sent_at, g.paused_at, g.pause_reason,
  g.error, g.created_at, g.updated_at
`
export const columns = sql.fragment`${listedColumns}, g.html, g.text, g.poll`
