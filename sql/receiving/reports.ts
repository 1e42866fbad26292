import { z } from 'zod'
import type { Bounce } from '#lib/delivery/bounce_details.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** A delivery that one of our addresses names; `sender` is the From field of its email. */
export const ReportedDelivery = z.object({
  account_id: z.string(),
  id: z.string(),
  email_id: z.string(),
  recipient: z.string(),
  sender: z.string(),
  domain_id: z.string().nullable(),
  topic_id: z.string().nullable(),
})
export type ReportedDelivery = z.infer<typeof ReportedDelivery>

/**
 * Finds a delivery by an id that we have signed. The id does not name the account, so each account is looked up by key.
 */
export async function findReportedDelivery(db: Queryable, id: string): Promise<ReportedDelivery | null> {
  return db.maybeOne(sql.type(ReportedDelivery)`
    SELECT d.account_id, d.id, d.email_id, d.recipient, e.sender, o.id AS domain_id, e.topic_id
    FROM accounts a
    CROSS JOIN LATERAL (
      SELECT account_id, id, email_id, recipient FROM deliveries WHERE account_id = a.id AND id = ${id} LIMIT 1
    ) d
    JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
    LEFT JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
  `)
}

/** The outcome that a report gives for a delivery (sql/receiving/apply_report.sql). */
export type ReportedOutcome = {
  account_id: string
  delivery_id: string
  outcome: 'bounced' | 'failed' | 'complained'
  reason: string
  reply: string | null
  class: string | null
  bounce: Bounce | null
  /** Id of the suppression; null for `failed`, as the recipient is not the cause. */
  suppression_id: string | null
}

const Applied = z.object({ applied: z.enum(['applied', 'settled', 'sending']) })

/**
 * Applies a reported outcome. `settled`: the delivery has such an outcome already; `sending`: it has no result yet, so
 * the report must be retried.
 */
export async function applyReportedOutcome(
  tx: Tx,
  report: ReportedOutcome,
): Promise<'applied' | 'settled' | 'sending'> {
  const bounce = report.bounce && JSON.stringify(report.bounce)
  const { applied } = await tx.one(sql.type(Applied)`
    SELECT apply_report(${report.account_id}, ${report.delivery_id}, ${report.outcome}, ${report.reason}, ${report.reply},
      ${report.class}, ${bounce}, ${report.suppression_id}) AS applied
  `)
  return applied
}
