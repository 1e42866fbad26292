import { z } from 'zod'

/** The shape of a resource's ids: returns the id as Postgres takes it, or null. */
export type IdShape = (text: string) => string | null

/** UUIDs of any version are taken: a cursor is only a position. */
const Uuid = z.guid()
export const uuid: IdShape = text => (Uuid.safeParse(text).success ? text.toLowerCase() : null)

const MAX_BIGINT = 2n ** 63n - 1n

/** Ids of logs and webhooks. One beyond all that there can be names nothing, and is a position after all others. */
export const numericId: IdShape = text => {
  if (!/^(?:0|[1-9][0-9]*)$/.test(text)) return null
  return text.length > 18 && BigInt(text) > MAX_BIGINT ? String(MAX_BIGINT) : text
}

/** Ids of webhook events, as lists have them or as the `webhook-id` of their requests does. */
export const eventId: IdShape = text => uuid(text.replace(/^msg_/, ''))
