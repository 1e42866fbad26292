import { z } from 'zod'
import { ApiError } from '#lib/errors.ts'
import { type FetchPolicy, findUrlFault } from '#lib/net/fetch_safely.ts'
import { clip, counted } from '#lib/zod_fields.ts'
import { ALL_EVENTS, EVENT_TYPES } from './event_types.ts'

/** Per account. An event is sent to at most this many. */
export const MAX_WEBHOOKS = 50
const MAX_URL = 2_048
const MAX_EVENTS = 100
const known = new Set<string>(EVENT_TYPES)
const all = new Set<string>([ALL_EVENTS, 'all'])

/** In the order of EVENT_TYPES. `*` or `all`, alone or in the list, stands for all events. */
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
 * Returns the URL of an endpoint as it is stored. `policy`: which hosts and ports the operator allows.
 *
 * @throws {ApiError} `validation_error`
 */
export function readEndpoint(endpoint: string, policy: FetchPolicy): string {
  const why = findUrlFault(endpoint, policy)
  if (why) throw new ApiError('validation_error', `\`endpoint\` ${why}.`)
  return new URL(endpoint).href
}

/** A webhook to add. */
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
