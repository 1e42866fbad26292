import { z } from 'zod'
import { CREATED_AFTER, CREATED_BEFORE, moment } from '#lib/zod_fields.ts'
import { EVENT_TYPES, TEST_EVENT } from './event_types.ts'

/** What has become of an event: `attempting` is one that is due while a worker is at its webhook. */
export const EventStatus = z
  .enum(['success', 'pending', 'failed', 'attempting'])
  .describe('`pending`: waits for an attempt. `attempting`: is being sent.')

/** The filters of GET /webhooks/:id/events, as its query gives them. */
export const WebhookEventFilter = z.object({
  status: EventStatus.optional().describe('Only events with this status.'),
  type: z
    .enum([...EVENT_TYPES, TEST_EVENT])
    .optional()
    .describe('Only events of this type.'),
  created_after: moment.optional().describe(CREATED_AFTER),
  created_before: moment.optional().describe(CREATED_BEFORE),
})
export type WebhookEventFilter = z.infer<typeof WebhookEventFilter>

/** Which events of a webhook are to be sent once more: those from `from` on, before `to`. */
export const WebhookReplay = z
  .object({
    from: z
      .string()
      .pipe(moment)
      .describe('Beginning of the time range: an ISO 8601 date or timestamp with an offset.'),
    to: z.string().pipe(moment).optional().describe('End of the time range, exclusive. Default: now.'),
    status: z
      .enum(['failed', 'success'])
      .default('failed')
      .describe('Send the events again that failed, or that succeeded.'),
    type: z.enum(EVENT_TYPES).optional().describe('Only events of this type.'),
  })
  .refine(({ from, to }) => !to || from < to, { path: ['to'], message: 'must be later than `from`' })
  .meta({ id: 'WebhookReplay' })
export type WebhookReplay = z.infer<typeof WebhookReplay>
