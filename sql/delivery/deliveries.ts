import { z } from 'zod'
import { NEWEST_RENDERER } from '#lib/contents/compile_content.ts'
import type { Bounce } from '#lib/delivery/bounce_details.ts'
import type { ReplyClass } from '#lib/delivery/smtp_reply.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/**
 * Identifies a claim. Each claim has its own owner, since an attempt that was given back is repeated with the same
 * number.
 */
export const Token = z.object({ account_id: z.string(), id: z.string(), attempt: z.int(), lease_owner: z.string() })
export type Token = z.infer<typeof Token>

/** A delivery that this process may send. */
export const ClaimedDelivery = Token.extend({
  email_id: z.string(),
  recipient: z.string(),
  destination: z.string(),
  /** Version of the code that renders its parts (lib/contents/compile_content.ts). */
  renderer: z.int().nullable(),
  suppressed: z.boolean(),
  /** True if the recipient is not subscribed to the topic of the email. */
  unsubscribed: z.boolean(),
  /** True if the contact of a campaign or an automation has unsubscribed from everything, or was deleted. */
  has_left: z.boolean(),
  /** True if the automation run was stopped. */
  is_stopped: z.boolean(),
  /** 0: transactional; 10: campaigns and marketing automations. */
  priority: z.int(),
  /** The transport that its domain selects. */
  transport: z.enum(['capture', 'relay', 'direct']).nullable(),
  /** True for mail of a campaign, an automation or a topic: its fence checks again whether it may be sent. */
  is_watched: z.boolean(),
  is_campaign: z.boolean(),
})
export type ClaimedDelivery = z.infer<typeof ClaimedDelivery>

export type ClaimOptions = {
  lease_owner: string
  lease_seconds: number
  limit: number
  /**
   * Maximum deliveries of campaigns. Default: `limit`. With `email_ids`, 0 excludes all campaign mail and any other number
   * none.
   */
  max_campaigns?: number
  /** Only deliveries of these emails. */
  email_ids?: string[]
  /** Destinations that already have enough deliveries in memory here. */
  busy_destinations?: string[]
  /** Destinations to which no mail of campaigns is claimed. Default: `busy_destinations`. */
  bulk_busy?: string[]
}

/** Claims due deliveries, oldest first, of all emails or only of these (sql/delivery/claim_deliveries.sql). */
export async function claimDeliveries(db: Queryable, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  const { lease_owner, lease_seconds, limit, max_campaigns = null, email_ids, busy_destinations = [] } = options
  const { bulk_busy = busy_destinations } = options
  const emails = email_ids ? sql.fragment`${sql.array(email_ids, 'uuid')}` : sql.fragment`NULL`
  return db.any(sql.prepared(email_ids ? 'claim_deliveries_of' : 'claim_deliveries', ClaimedDelivery)`
    SELECT account_id, id, attempt, lease_owner, email_id, recipient, destination, renderer, suppressed,
      unsubscribed, has_left, is_stopped, priority, transport, is_watched, is_campaign
    FROM claim_deliveries(
      ${lease_owner}, ${lease_seconds}, ${limit}, ${sql.array(busy_destinations, 'text')}, ${emails}, ${NEWEST_RENDERER},
      ${max_campaigns}, ${sql.array(bulk_busy, 'text')}
    ) ORDER BY priority, id
  `)
}

const Id = z.object({ id: z.string() })

/** The result of an attempt (sql/delivery/settle_deliveries.sql explains each outcome). */
export type DeliveryResult = {
  outcome:
    | 'delivered'
    | 'complained'
    | 'deferred'
    | 'bounced'
    | 'failed'
    | 'suppressed'
    | 'canceled'
    | 'in_doubt'
    | 'released'
    | 'lost'
    | 'resumed'
  /** Seconds until the next attempt. */
  delay?: number
  reason?: string
  reply?: string
  via?: string
  /** Set if the address goes onto the suppression list. */
  suppression_id?: string
  /** The cause of a refusal, and the refusal in the form of events. */
  class?: ReplyClass['class']
  bounce?: Bounce
  /** For `in_doubt`: keep it for a person to decide instead of sending it again. */
  hold?: boolean
  /** Seconds since the receiver's reply; for `in_doubt`, since the end of the message was sent. Default: 0. */
  age?: number
}

/** The result of a claimed delivery, with the token of its claim. */
export type SettledDelivery = DeliveryResult &
  Omit<Token, 'lease_owner'> & { email_id: string; lease_owner: string | null }

/** Returns the ids that were settled; the tokens of the others are out of date. */
export async function settleDeliveries(db: Queryable, results: SettledDelivery[]): Promise<string[]> {
  const rows = await db.any(sql.prepared('settle_deliveries', Id)`
    SELECT id FROM settle_deliveries(${JSON.stringify(results)}::json) AS id
  `)
  return rows.map(row => row.id)
}
