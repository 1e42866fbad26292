import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Limits of emails that accounts of this plan may send and receive in any 24 hours and any 30 days; null: no limit. */
export const Plan = z.object({
  name: z.string(),
  emails_per_day: z.int().nullable(),
  emails_per_month: z.int().nullable(),
  /** Maximum number of domains of an account; null: no limit. */
  domains: z.int().nullable(),
  /** Questions to the AI service in any 30 days; null: no limit. */
  ai_credits: z.int().nullable(),
  /** Runs of automations started in any 30 days; null: no limit. */
  automation_runs: z.int().nullable(),
})
export type Plan = z.infer<typeof Plan>

export async function listPlans(db: Queryable): Promise<Plan[]> {
  return db.any(
    sql.type(
      Plan,
    )`SELECT name, emails_per_day, emails_per_month, domains, ai_credits, automation_runs FROM plans ORDER BY name`,
  )
}

/** Creates a plan, or changes its limits for every account that is on it. */
export async function upsertPlan(db: Queryable, plan: Plan): Promise<void> {
  await db.run(sql.unsafe`
    INSERT INTO plans (name, emails_per_day, emails_per_month, domains, ai_credits, automation_runs)
    VALUES (${plan.name}, ${plan.emails_per_day}, ${plan.emails_per_month}, ${plan.domains},
      ${plan.ai_credits}, ${plan.automation_runs})
    ON CONFLICT (name) DO UPDATE SET emails_per_day = excluded.emails_per_day,
      emails_per_month = excluded.emails_per_month, domains = excluded.domains, ai_credits = excluded.ai_credits,
      automation_runs = excluded.automation_runs
  `)
}

/**
 * Changes the plan of an account. Emails sent on a plan without limits were not counted, so the windows of a limited
 * plan begin empty.
 */
export async function setPlan(db: Queryable, account_id: string, plan: string): Promise<void> {
  await db.run(sql.unsafe`UPDATE accounts SET plan = ${plan} WHERE id = ${account_id}`)
}

/** Adds credits: emails beyond the monthly quota, valid until they are used up. */
export async function addCredits(db: Queryable, account_id: string, credits: number): Promise<void> {
  await db.run(sql.unsafe`UPDATE account_usage SET credits = credits + ${credits} WHERE account_id = ${account_id}`)
}
