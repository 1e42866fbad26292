import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** A credit that was counted; `hour` is null if there is no limit. */
export type AiCredit = { account_id: string; hour: string | null }

const Taken = z.object({ hour: z.string().nullable() })

/** Takes an AI credit; null if all credits of the rolling 30 days are used up (sql/accounts/ai_credits.sql). */
export async function takeAiCredit(db: Queryable, account_id: string): Promise<AiCredit | null> {
  const { hour } = await db.one(sql.type(Taken)`SELECT take_ai_credit(${account_id})::text AS hour`)
  if (hour === null) return null
  return { account_id, hour: hour === 'infinity' ? null : hour }
}

/** Refunds the credit of a question without an answer. */
export async function refundAiCredit(db: Queryable, { account_id, hour }: AiCredit): Promise<void> {
  if (hour === null) return
  await db.run(sql.unsafe`
    UPDATE ai_usage SET credits = credits - 1 WHERE account_id = ${account_id} AND hour = ${hour}::timestamptz
  `)
}
