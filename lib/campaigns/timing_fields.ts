import { z } from 'zod'
import { TimeZone } from '#lib/time_zones.ts'
import { Recurrence } from './recurrence.ts'

const MAX_EVERY = 365
/** One year. */
const MAX_HOURS = 8_760
/** Two years. */
const MAX_DAYS = 730

const RECURRENCE =
  '`daily`, `weekly` or `monthly`, from `scheduled_at` on at the same time of day in `timezone`. Null: sent once.'

/** Fields about when a campaign is sent, and who is left out because of earlier campaigns. */
export const timingFields = {
  recurrence: Recurrence.nullish().describe(RECURRENCE),
  recurrence_every: z
    .int()
    .min(1)
    .max(MAX_EVERY)
    .nullish()
    .describe('Days, weeks or months from one run to the next, up to 365. Default: 1. Only with `recurrence`.'),
  timezone: TimeZone.nullish().describe('IANA time zone of the time of day at which it is sent. Default: `UTC`.'),
  send_in_local_time: z
    .boolean()
    .nullish()
    .describe('`true`: each recipient gets it at the time of day of `scheduled_at`, in the time zone of the contact.'),
  skip_if_mailed_within_hours: z
    .int()
    .min(1)
    .max(MAX_HOURS)
    .nullish()
    .describe(
      'Leaves out contacts who were sent a campaign within this many hours, up to 8,760. Null: nobody is left out.',
    ),
  exclude_unengaged_days: z
    .int()
    .min(1)
    .max(MAX_DAYS)
    .nullish()
    .describe(
      'Leaves out contacts who have been sent campaigns for this many days, up to 730, and opened none in that time.',
    ),
}
