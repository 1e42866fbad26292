import type { EmailId } from './emails.ts'
import { type Queryable, sql } from './pool.ts'

/** Before anything else is locked, by whoever debits or refunds (sql/functions/quotas.sql). */
export async function lockUsage(tx: Queryable, account_id: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT lock_usage(${sql.array([account_id], 'uuid')})`)
}

/** Gives back what an email took of its account's quotas when it was accepted. */
export async function refundEmail(tx: Queryable, { account_id, id }: EmailId): Promise<void> {
  await tx.run(sql.unsafe`SELECT refund_email(${account_id}, ${id})`)
}

/** What no window reaches back to any more. Answers how many rows it were. */
export async function deleteExpiredUsage(db: Queryable): Promise<number> {
  const minutes = await db.run(sql.unsafe`DELETE FROM usage_minutes WHERE minute < now() - interval '25 hours'`)
  const hours = await db.run(sql.unsafe`DELETE FROM usage_hours WHERE hour < now() - interval '31 days'`)
  const warm_ups = await db.run(sql.unsafe`DELETE FROM warm_up_usage WHERE since < now() - interval '25 hours'`)
  const credits = await db.run(sql.unsafe`DELETE FROM ai_usage WHERE hour < now() - interval '31 days'`)
  return minutes + hours + warm_ups + credits
}
