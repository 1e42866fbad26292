import { z } from 'zod'
import { moment } from '#lib/zod_fields.ts'
import { EVENT_TYPES, TEST_EVENT } from './event_types.ts'

/** What has become of an event: `attempting` is one that is due while a worker is at its webhook. */
export const EventStatus = z.enum(['success', 'pending', 'failed', 'attempting'])

/** The filters of GET /webhooks/:id/events, as its query gives them. */
export const WebhookEventFilter = z.object({
  status: EventStatus.optional(),
  type: z.enum([...EVENT_TYPES, TEST_EVENT]).optional(),
  created_after: moment.optional(),
  created_before: moment.optional(),
})
export type WebhookEventFilter = z.infer<typeof WebhookEventFilter>

/** Which events of a webhook are to be sent once more: those from `from` on, before `to`. */
export const WebhookReplay = z
  .object({
    from: z.string().pipe(moment),
    to: z.string().pipe(moment).optional(),
    status: z.enum(['failed', 'success']).default('failed'),
    type: z.enum(EVENT_TYPES).optional(),
  })
  .refine(({ from, to }) => !to || from < to, { path: ['to'], message: 'must be later than `from`' })
  .meta({ id: 'WebhookReplay' })
export type WebhookReplay = z.infer<typeof WebhookReplay>
