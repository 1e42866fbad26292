import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** A received reply. */
type Reply = { account_id: string; id: string }

/**
 * Takes an AI credit for a reply, at most one however often it is parsed. Returns false if all credits of the rolling 30
 * days are used up (sql/accounts/ai_credits.sql).
 */
export async function takeAiCredit(db: Queryable, { account_id, id }: Reply): Promise<boolean> {
  const { is_taken } = await db.one(sql.type(z.object({ is_taken: z.boolean() }))`
    SELECT take_ai_credit_for(${account_id}, ${id}) AS is_taken
  `)
  return is_taken
}

/** Refunds the credit of a question without an answer. */
export async function refundAiCredit(db: Queryable, { account_id, id }: Reply): Promise<void> {
  await db.run(sql.unsafe`SELECT refund_ai_credit(${account_id}, ${id})`)
}
