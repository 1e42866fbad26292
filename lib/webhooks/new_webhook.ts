import { z } from 'zod'
import { ApiError } from '#lib/errors.ts'
import { type FetchPolicy, whyNotFetchable } from '#lib/net/fetch_safely.ts'
import { clip, counted } from '#lib/zod_fields.ts'
import { ALL_EVENTS, EVENT_TYPES } from './event_types.ts'

/** Of one account: each event is sent to as many at the most. */
export const MAX_WEBHOOKS = 50
const MAX_URL = 2_048
const MAX_EVENTS = 100
const known = new Set<string>(EVENT_TYPES)
const all = new Set<string>([ALL_EVENTS, 'all'])

/** In the order of the catalogue; `*` or `all`, alone or among them, stands for all there are (contract 12.2). */
const Events = z
  .preprocess(
    given => (typeof given === 'string' && all.has(given) ? [given] : given),
    counted(
      1,
      MAX_EVENTS,
      'events',
      z.array(
        z
          .string()
          .refine(name => known.has(name) || all.has(name), {
            error: ({ input }) => `is ${clip(String(input))}, which is not an event`,
          })
          .meta({ enum: [...all, ...EVENT_TYPES] }),
      ),
    ).transform(names =>
      names.some(name => all.has(name)) ? [ALL_EVENTS] : EVENT_TYPES.filter(type => names.includes(type)),
    ),
  )
  .describe('Events to subscribe to, such as `email.delivered`. `*`: all events.')

const Endpoint = z.string().max(MAX_URL).describe('URL (http or https) that events are posted to, on a public host.')

/**
 * Returns the URL of an endpoint as it is stored. `policy`: where the operator lets requests go to.
 *
 * @throws {ApiError} `validation_error`
 */
export function readEndpoint(endpoint: string, policy: FetchPolicy): string {
  const why = whyNotFetchable(endpoint, policy)
  if (why) throw new ApiError('validation_error', `\`endpoint\` ${why}.`)
  return new URL(endpoint).href
}

/** A webhook to be added (contract 12.2). */
export const NewWebhook = z.object({ endpoint: Endpoint, events: Events }).meta({ id: 'NewWebhook' })
export type NewWebhook = z.output<typeof NewWebhook>

export const WebhookChange = z
  .object({
    endpoint: Endpoint,
    events: Events,
    status: z.enum(['enabled', 'disabled']).describe('`enabled` resets its failures.'),
  })
  .partial()
  .meta({ id: 'WebhookChange' })
export type WebhookChange = z.output<typeof WebhookChange>
