import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Lists accounts that are not paused and have mail with an id from this one on. */
export async function listSendingAccounts(db: Queryable, from_id: string): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT a.id FROM accounts a
    WHERE a.paused_at IS NULL AND EXISTS (SELECT FROM emails e WHERE e.account_id = a.id AND e.id >= ${from_id})
  `)
  return rows.map(row => row.id)
}

/**
 * Results of mail from a domain. `settled`: accepted by its receiver, or bounced. `bounced`: the recipient is the
 * cause, or a later report says that the receiver refuses our mail for its policy or content. A domain without a name
 * was deleted.
 */
export const Outcomes = z.object({
  domain_id: z.string(),
  domain: z.string().nullable(),
  settled: z.int(),
  bounced: z.int(),
  complained: z.int(),
})
export type Outcomes = z.infer<typeof Outcomes>

type Sample = { account_id: string; from_id: string; limit: number; simulator_domain: string }

/**
 * Counts results of the newest emails of an account, by domain. Leaves out mail sent before the last resume, and paused
 * domains, since neither should cause another pause. Results of the simulator do not count. Mail from deleted domains
 * counts: otherwise owners would delete a domain that is about to be paused.
 */
export async function countOutcomes(db: Queryable, sample: Sample): Promise<Outcomes[]> {
  const { account_id, from_id, limit, simulator_domain } = sample
  return db.any(sql.type(Outcomes)`
    SELECT e.domain_id, o.name AS domain,
      count(*) FILTER (WHERE d.state IN ('delivered', 'bounced') OR d.reported_class IS NOT NULL) AS settled,
      count(*) FILTER (WHERE d.state = 'bounced' OR d.reported_class IN ('policy', 'content')) AS bounced,
      count(*) FILTER (WHERE d.complained) AS complained
    FROM (
      SELECT account_id, id, domain_id, created_at FROM emails
      WHERE account_id = ${account_id} AND id >= ${from_id} ORDER BY id DESC LIMIT ${limit}
    ) e
    JOIN accounts a ON a.id = e.account_id
    LEFT JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
    -- OFFSET 0: reads the index for each email. Otherwise, while a fast-growing table has no statistics, Postgres may join
    -- all emails with all deliveries.
    CROSS JOIN LATERAL (
      SELECT state, reported_class, complained, destination FROM deliveries
      WHERE account_id = e.account_id AND email_id = e.id OFFSET 0
    ) d
    WHERE e.domain_id IS NOT NULL AND o.paused_at IS NULL AND d.destination <> ${simulator_domain}
      AND e.created_at > greatest(a.resumed_at, o.resumed_at, '-infinity')
    GROUP BY e.domain_id, o.name
  `)
}
