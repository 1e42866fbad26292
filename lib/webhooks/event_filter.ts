import { z } from 'zod'
import { CREATED_AFTER, CREATED_BEFORE, moment } from '#lib/zod_fields.ts'
import { EVENT_TYPES, TEST_EVENT } from './event_types.ts'

/** The status of an event. `attempting`: it is due, and a worker is sending to its webhook. */
export const EventStatus = z
  .enum(['success', 'pending', 'failed', 'attempting'])
  .describe('`pending`: waits for an attempt. `attempting`: is being sent.')

/** The query of GET /webhooks/:id/events. */
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

/** The events of a webhook to send again: from `from` until before `to`. */
export const WebhookReplay = z
  .object({
    from: z
      .string()
      .pipe(moment)
      .describe('Beginning of the time range: an ISO 8601 date or timestamp with an offset.'),
    to: z.string().pipe(moment).optional().describe('End of the time range, exclusive. Default: now.'),
    status: z.enum(['failed', 'success']).default('failed').describe('Send failed or successful events again.'),
    type: z.enum(EVENT_TYPES).optional().describe('Only events of this type.'),
  })
  .refine(({ from, to }) => !to || from < to, { path: ['to'], message: 'must be later than `from`' })
  .meta({ id: 'WebhookReplay' })
export type WebhookReplay = z.infer<typeof WebhookReplay>
