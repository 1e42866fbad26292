import { z } from 'zod'
import type { ScheduleFault } from '#lib/sending/schedule.ts'
import { sql, type Tx } from '#sql/pool.ts'
import type { EmailId } from './emails.ts'

const Fault = z.enum(['schedule_past', 'schedule_too_far'])

const Scheduled = z.object({ status: z.string(), is_pending: z.boolean() })

/**
 * Locks an email and then its deliveries, in the same order as all transactions that change both. `is_pending`: it is
 * scheduled, and no worker has claimed any of its deliveries. Null: there is no such email.
 */
export async function lockScheduled(tx: Tx, { account_id, id }: EmailId): Promise<z.infer<typeof Scheduled> | null> {
  const email = await tx.maybeOne(sql.type(z.object({ status: z.string() }))`
    SELECT status FROM emails WHERE account_id = ${account_id} AND id = ${id} FOR NO KEY UPDATE
  `)
  if (!email) return null
  const deliveries = await tx.any(sql.type(z.object({ waits: z.boolean() }))`
    SELECT state = 'suppressed' OR state = 'queued' AND attempt = 0 AS waits FROM deliveries
    WHERE email_id = ${id} AND account_id = ${account_id} ORDER BY id FOR NO KEY UPDATE
  `)
  return { status: email.status, is_pending: email.status === 'scheduled' && deliveries.every(({ waits }) => waits) }
}

/**
 * Moves a scheduled email. If that is not possible, does nothing and returns the reason, by the database's clock
 * (sql/sending/accept/schedule_fault.sql).
 */
export async function moveScheduled(
  tx: Tx,
  { account_id, id }: EmailId,
  scheduled_at: Date,
): Promise<ScheduleFault | null> {
  const at = scheduled_at.toISOString()
  const { fault } = await tx.one(sql.type(z.object({ fault: Fault.nullable() }))`
    SELECT schedule_fault(${at}) AS fault
  `)
  if (fault) return fault
  await tx.run(sql.unsafe`
    UPDATE emails SET scheduled_at = ${at}, updated_at = now() WHERE account_id = ${account_id} AND id = ${id}
  `)
  await tx.run(sql.unsafe`
    UPDATE deliveries SET next_at = ${at}, updated_at = now()
    WHERE email_id = ${id} AND account_id = ${account_id} AND state = 'queued'
  `)
  return null
}

export async function cancelScheduled(tx: Tx, { account_id, id }: EmailId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE emails SET status = 'canceled', last_event = 'canceled', updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  await tx.run(sql.unsafe`
    UPDATE deliveries SET state = 'canceled', next_at = NULL, updated_at = now()
    WHERE email_id = ${id} AND account_id = ${account_id} AND state = 'queued'
  `)
  await tx.run(sql.unsafe`
    INSERT INTO email_events (account_id, email_id, type) VALUES (${account_id}, ${id}, 'canceled')
  `)
}

/** Refunds the debits of an email to the quotas of its account, whose usage must be locked (refund_email.sql). */
export async function refundEmail(tx: Tx, { account_id, id }: EmailId): Promise<void> {
  await tx.run(sql.unsafe`SELECT refund_email(${account_id}, ${id})`)
}
