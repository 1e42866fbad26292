import { z } from 'zod'

/** Reads an id of a resource: returns it in the form that Postgres takes, or null if it does not have the form of such an id. */
export type IdShape = (text: string) => string | null

/** UUIDs of any version are accepted: a cursor is only a position. */
const Uuid = z.guid()
export const uuid: IdShape = text => (Uuid.safeParse(text).success ? text.toLowerCase() : null)

const MAX_BIGINT = 2n ** 63n - 1n

/** Ids of logs and webhooks. A number beyond the range of bigint names no record, but is a valid cursor: after all others. */
export const numericId: IdShape = text => {
  if (!/^(?:0|[1-9][0-9]*)$/.test(text)) return null
  return text.length > 18 && BigInt(text) > MAX_BIGINT ? String(MAX_BIGINT) : text
}

/** Ids of webhook events, in the form of lists or in that of the header `webhook-id`. */
export const eventId: IdShape = text => uuid(text.replace(/^msg_/, ''))
