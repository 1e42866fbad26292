import { z } from 'zod'
import { DomainStatus } from '#lib/domains/domain_status.ts'
import { type Queryable, sql } from '#sql/pool.ts'

const Queue = z.object({
  /** Runners of graphile-worker: two per worker process. */
  runners: z.int(),
  /** When the delivery that has waited longest became due. */
  due_since: z.date().nullable(),
  held: z.int(),
  now: z.date(),
})
export type Queue = z.infer<typeof Queue>

/**
 * Returns the state of the workers and of the queue. `dead_seconds`: a worker that was not seen for this long is dead.
 */
export async function findQueue(db: Queryable, dead_seconds: number): Promise<Queue> {
  return db.one(sql.type(Queue)`
    SELECT
      (SELECT count(*)::int FROM worker_heartbeats
       WHERE seen_at > now() - make_interval(secs => ${dead_seconds})) AS runners,
      -- As they are claimed (claim_deliveries.sql): a range of the index for each priority.
      (SELECT min(due.next_at) FROM (VALUES (0), (10)) AS p(priority) CROSS JOIN LATERAL (
        SELECT next_at FROM deliveries d
        WHERE d.state = 'queued' AND d.priority = p.priority AND d.next_at <= now() ORDER BY next_at LIMIT 1
      ) AS due) AS due_since,
      (SELECT count(*)::int FROM (
        SELECT FROM deliveries WHERE state = 'in_doubt' AND next_at IS NULL LIMIT 1000
      ) AS held) AS held,
      now() AS now
  `)
}

const FailedJobs = z.object({ task: z.string(), count: z.int(), last_error: z.string().nullable() })
export type FailedJobs = z.infer<typeof FailedJobs>

/** Lists, per task, the jobs that have failed for good: they are not retried automatically. */
export async function listFailedJobs(db: Queryable): Promise<FailedJobs[]> {
  return db.any(sql.type(FailedJobs)`
    SELECT task_identifier AS task, count(*)::int AS count, (array_agg(last_error ORDER BY id DESC))[1] AS last_error
    FROM graphile_worker.jobs WHERE attempts >= max_attempts AND locked_at IS NULL
    GROUP BY task_identifier ORDER BY task_identifier
  `)
}

const DomainOfAccount = z.object({
  account_id: z.string(),
  id: z.string(),
  account: z.string(),
  name: z.string(),
  status: DomainStatus,
  is_trusted: z.boolean(),
})
export type DomainOfAccount = z.infer<typeof DomainOfAccount>

/** Lists the domains of all accounts for the operator, unverified ones first. */
export async function listDomainsOfAccounts(db: Queryable, limit: number): Promise<DomainOfAccount[]> {
  return db.any(sql.type(DomainOfAccount)`
    SELECT d.account_id, d.id, a.name AS account, d.name, d.status, d.is_trusted
    FROM domains d JOIN accounts a ON a.id = d.account_id
    ORDER BY d.status = 'verified', d.id DESC LIMIT ${limit}
  `)
}

const SealedKey = z.object({
  account_id: z.string(),
  id: z.string(),
  domain: z.string(),
  selector: z.string(),
  private_key: z.instanceof(Buffer),
})
export type SealedKey = z.infer<typeof SealedKey>

/** Lists the keys that domains of all accounts sign with, newest first. */
export async function listSealedKeys(db: Queryable, limit: number): Promise<SealedKey[]> {
  return db.any(sql.type(SealedKey)`
    SELECT k.account_id, k.id, d.name AS domain, k.selector, k.private_key
    FROM dkim_keys k JOIN domains d ON d.account_id = k.account_id AND d.id = k.domain_id
    WHERE k.state = 'active' ORDER BY k.id DESC LIMIT ${limit}
  `)
}

const DomainTransport = z.object({ transport: z.enum(['capture', 'relay', 'direct']) })

/** Lists the transports of domains that do not use the default. */
export async function listDomainTransports(db: Queryable): Promise<z.infer<typeof DomainTransport>['transport'][]> {
  const rows = await db.any(sql.type(DomainTransport)`
    SELECT DISTINCT transport FROM domains WHERE transport IS NOT NULL ORDER BY transport
  `)
  return rows.map(row => row.transport)
}
