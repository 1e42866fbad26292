import { z } from 'zod'
import { isTimeZone } from '#lib/time_zones.ts'
import { requireOne } from '#lib/zod_fields.ts'
import { Duration } from './durations.ts'

/** In the order of `Date.getUTCDay`. */
export const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** Stands for the time zone of the contact, in place of a zone's name. */
const OF_CONTACT = 'contact'

const Until = z
  .object({
    time: z
      .string()
      .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as `09:00`')
      .describe('Time of day, `HH:MM`.'),
    days: z
      .array(z.enum(DAYS))
      .min(1)
      .max(DAYS.length)
      .optional()
      .describe('Days that count, such as `monday`. Default: every day.'),
    timezone: z
      .string()
      .refine(
        name => name === OF_CONTACT || isTimeZone(name),
        'must be `contact` or an IANA time zone such as `Europe/Berlin`',
      )
      .default('UTC')
      .describe('IANA time zone such as `Europe/Berlin`, or `contact`: that of the contact. Default: `UTC`.'),
  })
  .meta({ id: 'DelayUntil' })

export const DelayConfig = z
  .object({
    duration: Duration.optional().describe('Length of time such as `3 days` or `1 day 12 hours`, up to a year.'),
    until: Until.optional().describe('The next such time of day.'),
  })
  .superRefine(requireOne('duration', 'until'))
  .meta({ id: 'DelayStepConfig' })
