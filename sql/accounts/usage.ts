import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/**
 * Locks the usage of an account. Every transaction that debits or refunds must call this before it locks emails, contacts
 * or anything else, except the campaign that it sends or cancels, which it locks first (sql/accounts/quotas.sql).
 */
export async function lockUsage(tx: Tx, account_id: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT lock_usage(${sql.array([account_id], 'uuid')})`)
}

/** Deletes usage that no window covers any more; returns how many rows were deleted. */
export async function deleteExpiredUsage(db: Queryable): Promise<number> {
  const minutes = await db.run(sql.unsafe`DELETE FROM usage_minutes WHERE minute < now() - interval '25 hours'`)
  const hours = await db.run(sql.unsafe`DELETE FROM usage_hours WHERE hour < now() - interval '31 days'`)
  const warm_ups = await db.run(sql.unsafe`DELETE FROM warm_up_usage WHERE since < now() - interval '25 hours'`)
  const credits = await db.run(sql.unsafe`DELETE FROM ai_usage WHERE hour < now() - interval '31 days'`)
  const runs = await db.run(sql.unsafe`DELETE FROM automation_usage WHERE hour < now() - interval '31 days'`)
  return minutes + hours + warm_ups + credits + runs
}

const AccountUsage = z.object({
  credits: z.int(),
  domains: z.int(),
  contacts: z.int(),
  segments: z.int(),
  campaigns: z.int(),
  domain_limit: z.int().nullable(),
  ai_used: z.int(),
  ai_limit: z.int().nullable(),
  ai_next_at: z.date().nullable(),
  runs_used: z.int(),
  runs_limit: z.int().nullable(),
  runs_last_at: z.date().nullable(),
})

const WindowUsage = z.object({
  limit: z.int().nullable(),
  sent: z.int(),
  received: z.int(),
  /** When the first email is free again, and when all are; null: nothing counts toward a quota. */
  next_at: z.date().nullable(),
  last_at: z.date().nullable(),
})
export type WindowUsage = z.infer<typeof WindowUsage>

/** Returns the emails of the 24 hours or 30 days that end now, with the limit of the plan. */
export async function findWindowUsage(
  db: Queryable,
  account_id: string,
  window: 'day' | 'month',
): Promise<WindowUsage> {
  const limit = window === 'day' ? sql.fragment`p.emails_per_day` : sql.fragment`p.emails_per_month`
  return db.one(sql.type(WindowUsage)`
    SELECT ${limit} AS limit, u.* FROM accounts a JOIN plans p ON p.name = a.plan
    CROSS JOIN LATERAL find_usage(a.id, ${window}) AS u WHERE a.id = ${account_id}
  `)
}

/**
 * Returns the usage that is not counted in emails. An AI credit or an automation run is free again 30 days after the
 * hour in which it was taken.
 */
export async function findAccountUsage(db: Queryable, account_id: string): Promise<z.infer<typeof AccountUsage>> {
  return db.one(sql.type(AccountUsage)`
    SELECT u.credits, p.domains AS domain_limit, p.ai_credits AS ai_limit,
      (SELECT count(*) FROM domains d WHERE d.account_id = a.id) AS domains,
      (SELECT count(*) FROM segments s WHERE s.account_id = a.id) AS segments,
      (SELECT count(*) FROM campaigns g WHERE g.account_id = a.id AND g.deleted_at IS NULL) AS campaigns,
      (SELECT coalesce(sum(c.contacts), 0)::bigint FROM domains d
        JOIN audience_counts c ON c.account_id = d.account_id AND c.audience_id = d.id
        WHERE d.account_id = a.id) AS contacts, -- the default audience of a domain has its id and all its contacts
      coalesce(ai.used, 0) AS ai_used, ai.next_at AS ai_next_at, p.automation_runs AS runs_limit, runs.last_at AS runs_last_at,
      CASE WHEN p.automation_runs IS NOT NULL THEN coalesce(runs.used, 0) ELSE (
        SELECT count(*) FROM automation_runs r WHERE r.account_id = a.id AND r.id >= first_id(now() - interval '30 days')
      ) END AS runs_used
    FROM accounts a JOIN plans p ON p.name = a.plan JOIN account_usage u ON u.account_id = a.id
    CROSS JOIN LATERAL (
      SELECT sum(i.credits) AS used, min(i.hour) + usage_window('month') AS next_at FROM ai_usage i
      WHERE i.account_id = a.id AND i.hour > now() - usage_window('month') AND i.credits > 0
    ) ai
    CROSS JOIN LATERAL (
      SELECT sum(i.runs)::bigint AS used, max(i.hour) + usage_window('month') AS last_at FROM automation_usage i
      WHERE i.account_id = a.id AND i.hour > now() - usage_window('month') AND i.runs > 0
    ) runs
    WHERE a.id = ${account_id}
  `)
}

const Room = z.object({ day: z.int().nullable(), month: z.int().nullable() })

/** Returns how many emails the plan has room for in the windows that end now, credits included; null: no such quota. */
export async function findQuotaRoom(db: Queryable, account_id: string): Promise<z.infer<typeof Room>> {
  return db.one(sql.type(Room)`
    SELECT CASE WHEN p.emails_per_day IS NOT NULL THEN greatest(0, p.emails_per_day - (
        SELECT coalesce(sum(m.emails), 0) FROM usage_minutes m
        WHERE m.account_id = a.id AND m.minute > now() - usage_window('day')
      )) END::bigint AS day,
      CASE WHEN p.emails_per_month IS NOT NULL THEN u.credits + greatest(0, p.emails_per_month - (
        SELECT coalesce(sum(h.emails), 0) FROM usage_hours h
        WHERE h.account_id = a.id AND h.hour > now() - usage_window('month')
      )) END::bigint AS month
    FROM accounts a JOIN plans p ON p.name = a.plan JOIN account_usage u ON u.account_id = a.id WHERE a.id = ${account_id}
  `)
}
