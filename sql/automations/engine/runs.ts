import { z } from 'zod'
import type { Advanced } from '#lib/automations/evaluate/run_state.ts'
import { sql, type Tx } from '#sql/pool.ts'
import { payloadBytes } from './payload_bytes.ts'
import { uuids } from './uuids.ts'

/** Maximum bytes of payloads that one claim reads. At least one run is claimed. */
const MOST_BYTES = 16 << 20

const Payload = z.record(z.string(), z.unknown())

const DueRun = z.object({
  account_id: z.string(),
  id: z.string(),
  automation_id: z.string(),
  version: z.int(),
  domain_id: z.string(),
  contact_id: z.string(),
  step: z.int(),
  seq: z.int(),
  due_at: z.date(),
  wait_event: z.string().nullable(),
  wait_until: z.date().nullable(),
  refused_since: z.date().nullable(),
  seen_event: z.string().nullable(),
  consumed: z.array(z.string()),
  payload: Payload,
  event: Payload.nullable(),
  depth: z.int(),
  has_sent: z.boolean(),
  has_skipped: z.boolean(),
  now: z.date(),
})
/** A run whose next step is due, locked until the transaction ends. */
export type DueRun = z.infer<typeof DueRun>

/** `found`: how many due runs were locked. */
const ClaimedRun = DueRun.extend({ found: z.int() })

export type RunId = Pick<DueRun, 'account_id' | 'id'>

/** The runs to claim: a maximum number of due runs, or specific runs. */
export type Claim = number | RunId[]

/**
 * Claims due runs (sql/automations/engine/claim_runs.sql), fewer if their payloads are large. `has_more`: others may be due.
 */
export async function claimRuns(tx: Tx, claim: Claim): Promise<{ runs: DueRun[]; has_more: boolean }> {
  const ids = typeof claim === 'number' ? null : claim
  const accounts = ids && uuids(ids, 'account_id')
  const runs = ids && uuids(ids, 'id')
  const most = ids ? ids.length : (claim as number)
  // The others stay due. They are locked all the same, until the transaction ends.
  const claimed = await tx.any(sql.prepared(ids ? 'claim_these_runs' : 'claim_runs', ClaimedRun)`
    SELECT account_id, id, automation_id, version, domain_id, contact_id, step, seq, due_at, wait_event, wait_until, refused_since,
      seen_event, consumed, payload, event, depth, has_sent, has_skipped, now() AS now, found::int
    FROM (
      SELECT *, count(*) OVER () AS found, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
      FROM (
        SELECT *, ${payloadBytes(sql.fragment`payload`)} + ${payloadBytes(sql.fragment`event`)} AS bytes
        FROM claim_runs(${most}, ${accounts}, ${runs})
      ) due
    ) counted
    WHERE bytes_before < ${MOST_BYTES}
  `)
  const found = claimed[0]?.found ?? 0
  return { runs: claimed, has_more: found === most || found > claimed.length }
}

const Stored = z.object({ runs: z.int(), steps: z.int() })

/** A claimed run with its new state. `seen_event`: the last event that it has looked at in its wait. */
export type StoredRun = { run: DueRun; advanced: Advanced; seen_event: string | null }

/** Stores runs with the steps that they have taken (sql/automations/engine/store_runs.sql). */
export async function storeRuns(tx: Tx, stored: StoredRun[]): Promise<void> {
  if (stored.length === 0) return
  const runs = stored.map(({ run: { account_id, id, seq }, advanced: { status, due, error, state }, seen_event }) => ({
    ...{ account_id, id, expected: seq, status, due_at: due, error, seen_event },
    ...state,
  }))
  const steps = stored.flatMap(({ run: { account_id, id: run_id }, advanced }) =>
    advanced.steps.map(step => ({ account_id, run_id, ...step })),
  )
  const written = await tx.one(sql.prepared('store_runs', Stored)`
    SELECT runs, steps FROM store_runs(${JSON.stringify(runs)}::json, ${JSON.stringify(steps)}::json)
  `)
  if (written.runs === runs.length && written.steps === steps.length) return
  throw new Error(`Only ${JSON.stringify(written)} of ${runs.length} runs and ${steps.length} steps were written.`)
}

/** Postpones a run whose statements fail, or fails it after `max_attempts`. */
export async function postponeRun(
  tx: Tx,
  { account_id, id }: RunId,
  { seconds, max_attempts, error }: { seconds: number; max_attempts: number; error: string },
): Promise<void> {
  await tx.run(sql.unsafe`
    WITH run AS (
      UPDATE automation_runs r SET attempt = r.attempt + 1,
        status = CASE WHEN r.attempt + 1 >= ${max_attempts} THEN 'failed' ELSE r.status END,
        error = CASE WHEN r.attempt + 1 >= ${max_attempts} THEN ${error} END,
        completed_at = CASE WHEN r.attempt + 1 >= ${max_attempts} THEN now() END,
        due_at = CASE WHEN r.attempt + 1 < ${max_attempts} THEN now() + make_interval(secs => ${seconds} * 2 ^ r.attempt) END
      WHERE r.account_id = ${account_id} AND r.id = ${id} AND r.status = 'running' AND r.due_at <= now()
      RETURNING *
    )
    INSERT INTO automation_run_steps AS s (account_id, run_id, seq, step, status, error, completed_at)
    SELECT account_id, id, seq + CASE WHEN wait_event IS NULL AND wait_until IS NULL AND refused_since IS NULL THEN 1 ELSE 0 END,
      step, 'failed', ${error}, now()
    FROM run WHERE status = 'failed'
    ON CONFLICT (account_id, run_id, seq) DO UPDATE
      SET status = excluded.status, error = excluded.error, completed_at = excluded.completed_at
  `)
}
