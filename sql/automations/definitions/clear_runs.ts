import { z } from 'zod'
import { addJob } from '#sql/jobs.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { AutomationId } from './automations.ts'

/** Queues a stopped or deleted automation to have its runs cleared by a job. */
export async function addClearing(tx: Tx, { account_id, id }: AutomationId): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO automation_clearings (account_id, automation_id) VALUES (${account_id}, ${id})
    ON CONFLICT (account_id, automation_id) DO UPDATE SET next_at = now()
  `)
  await addClearJob(tx)
}

export async function addClearJob(db: Queryable, in_seconds = 0): Promise<void> {
  await addJob(db, 'clear_runs', {}, 'clear_runs', in_seconds)
}

const Clearing = z.object({
  account_id: z.string(),
  id: z.string(),
  /** Null if the automation was deleted. */
  stopped_version: z.int().nullable(),
})
export type Clearing = z.infer<typeof Clearing>

/** Locks the next due automation until the transaction ends; null if none is due. */
export async function lockClearing(tx: Tx): Promise<Clearing | null> {
  return tx.maybeOne(sql.type(Clearing)`
    SELECT c.account_id, c.automation_id AS id, (
      SELECT stopped_version FROM automations a WHERE a.account_id = c.account_id AND a.id = c.automation_id
    ) AS stopped_version
    FROM automation_clearings c WHERE c.next_at <= now() ORDER BY c.next_at LIMIT 1 FOR UPDATE SKIP LOCKED
  `)
}

/** Moves an automation behind all others. */
export async function moveClearing(tx: Tx, { account_id, id }: AutomationId, in_seconds: number): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE automation_clearings SET next_at = clock_timestamp() + make_interval(secs => ${in_seconds})
    WHERE account_id = ${account_id} AND automation_id = ${id}
  `)
}

export async function deleteClearing(tx: Tx, { account_id, id }: AutomationId): Promise<void> {
  await tx.run(sql.unsafe`
    DELETE FROM automation_clearings WHERE account_id = ${account_id} AND automation_id = ${id}
  `)
}

export async function hasClearings(db: Queryable): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM automation_clearings`)
}

type Stopped = AutomationId & { stopped_version: number }

/**
 * Ends runs of stopped versions and the steps that they wait in; returns how many. Leaves out runs that another
 * transaction has locked, since workers lock runs in another order.
 */
export async function endRuns(tx: Tx, { account_id, id, stopped_version }: Stopped, limit: number): Promise<number> {
  const { ended } = await tx.one(sql.type(z.object({ ended: z.int() }))`
    SELECT skip_runs(${account_id}, ARRAY(
      SELECT id FROM automation_runs
      WHERE account_id = ${account_id} AND automation_id = ${id} AND status = 'running' AND version <= ${stopped_version}
      ORDER BY id LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
    ), 'The automation was stopped.') AS ended
  `)
  return ended
}

/** Returns true if runs of stopped versions are left. */
export async function hasStoppedRuns(db: Queryable, { account_id, id, stopped_version }: Stopped): Promise<boolean> {
  return db.exists(sql.fragment`
    SELECT FROM automation_runs
    WHERE account_id = ${account_id} AND automation_id = ${id} AND status = 'running' AND version <= ${stopped_version}
  `)
}

/**
 * Returns true if contacts have entered since the last stop. Their runs may have ended, but some of their mail may
 * still be queued.
 */
export async function hasEntered(db: Queryable, { account_id, id }: AutomationId): Promise<boolean> {
  return db.exists(sql.fragment`
    SELECT FROM automation_runs r JOIN automations a ON a.account_id = r.account_id AND a.id = r.automation_id
    WHERE r.account_id = ${account_id} AND r.automation_id = ${id} AND r.version > a.stopped_version
  `)
}

/** Deletes runs of a deleted automation, with their steps; returns how many. */
export async function deleteRuns(tx: Tx, { account_id, id }: AutomationId, limit: number): Promise<number> {
  return tx.run(sql.unsafe`
    DELETE FROM automation_runs WHERE account_id = ${account_id} AND id = ANY (ARRAY(
      SELECT id FROM automation_runs WHERE account_id = ${account_id} AND automation_id = ${id}
      ORDER BY status, id LIMIT ${limit} -- in the order of an index, else Postgres may read the runs of all others before them
      FOR UPDATE SKIP LOCKED))
  `)
}

/** Returns true if a deleted automation has runs left. */
export async function hasRuns(db: Queryable, { account_id, id }: AutomationId): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM automation_runs WHERE account_id = ${account_id} AND automation_id = ${id}`)
}
