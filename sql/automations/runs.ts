import { z } from 'zod'
import { StepTypeName } from '#lib/automations/new_step.ts'
import { RunStatus } from '#lib/automations/run_status.ts'
import { timestamp } from '#lib/json/json_form.ts'
import { emptyPage, type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { MAX_COUNT, RunCounts } from './definitions/automation_records.ts'
import type { AutomationId } from './definitions/automations.ts'

const listed = {
  object: z.literal('automation_run'),
  id: z.string(),
  automation_id: z.string().describe('Id of the automation.'),
  version: z.int().describe('Version of the automation that it uses.'),
  contact_id: z.string().describe('Id of the contact.'),
  contact_email: z.string().describe('Address of the contact when the run began.'),
  status: RunStatus.describe(
    '`skipped`: it ended without doing its work, because it was stopped or its contact gets no mail.',
  ),
  error: z
    .string()
    .nullable()
    .describe('Why it failed or was skipped. If its emails were not sent: the `output.reason` of the last one.'),
  started_at: z.date().describe('When the contact entered.'),
  completed_at: z.date().nullable().describe('When it ended; null: it has not.'),
  created_at: z.date(),
}

/** A run as GET /automations/:id/runs shows it. */
export const ListedRun = z.object(listed).meta({ id: 'ListedAutomationRun' })
export type ListedRun = z.infer<typeof ListedRun>

const RunStep = z
  .object({
    key: z.string().describe('Key of the step.'),
    type: StepTypeName.describe('Type of the step.'),
    status: z.enum(['waiting', 'completed', 'failed', 'skipped']).describe('`waiting`: the run has reached it.'),
    output: z.record(z.string(), z.unknown()).nullable().describe('Its result.'),
    error: z
      .object({ message: z.string().describe('The reason.') })
      .nullable()
      .describe('Why it failed or was skipped.'),
    started_at: timestamp.describe('When the run reached it.'),
    completed_at: timestamp.nullable().describe('When the run left it; null: it has not.'),
    created_at: timestamp,
  })
  .meta({ id: 'AutomationRunStep' })

/** A run as GET /automations/:id/runs/:run_id shows it. */
export const AutomationRun = z
  .object({
    ...listed,
    steps: z.array(RunStep).describe('Steps that it has reached, in their order, from the trigger on.'),
  })
  .meta({ id: 'AutomationRun' })
export type AutomationRun = z.infer<typeof AutomationRun>

const error = sql.fragment`
  CASE WHEN r.status = 'skipped' AND r.error IS NULL THEN (
    SELECT s.output ->> 'reason' FROM automation_run_steps s
    WHERE s.account_id = r.account_id AND s.run_id = r.id AND s.status = 'skipped' ORDER BY s.seq DESC LIMIT 1
  ) ELSE r.error END
`
const columns = sql.fragment`
  'automation_run' AS object, r.id, r.automation_id, r.version, r.contact_id, r.contact_email, r.status, ${error} AS error,
  r.started_at, r.completed_at, r.started_at AS created_at
`

/** Lists runs of an automation, newest first. If the cursor is not one of its runs, the page is empty. */
export async function listRuns(
  db: Queryable,
  { account_id, id }: AutomationId,
  statuses: RunStatus[],
  position: Position,
): Promise<Page<ListedRun>> {
  const cursor = position.after ?? position.before
  if (cursor !== undefined && !(await isRun(db, { account_id, id }, cursor))) return emptyPage()
  // One branch per status, each ordered by its index.
  return readPage(position, (where, order, limit) => {
    const branches = (statuses.length > 0 ? statuses : RunStatus.options).map(
      status => sql.fragment`(
        SELECT * FROM automation_runs
        WHERE account_id = ${account_id} AND automation_id = ${id} AND status = ${status} AND ${where}
        ORDER BY ${order} LIMIT ${limit}
      )`,
    )
    return db.any(sql.type(ListedRun)`
      SELECT ${columns} FROM (${sql.join(branches, sql.fragment` UNION ALL `)}) r ORDER BY ${order} LIMIT ${limit}
    `)
  })
}

async function isRun(db: Queryable, { account_id, id }: AutomationId, run_id: string): Promise<boolean> {
  return db.exists(sql.fragment`
    SELECT FROM automation_runs WHERE account_id = ${account_id} AND id = ${run_id} AND automation_id = ${id}
  `)
}

/**
 * Finds a run with its steps. Keys and types of the steps are those of the version of the run. The trigger, which is not stored,
 * comes first. The error of a step that was skipped because the run ended is that of the run.
 */
export async function findRun(
  db: Queryable,
  { account_id, id }: AutomationId,
  run_id: string,
): Promise<AutomationRun | null> {
  return db.maybeOne(sql.type(AutomationRun)`
    SELECT ${columns}, (
      SELECT coalesce(json_agg(json_build_object(
        'key', g.step -> 'key', 'type', g.step -> 'type', 'status', s.status, 'output', s.output,
        'error', CASE WHEN s.why IS NOT NULL THEN json_build_object('message', s.why) END,
        'started_at', s.started_at, 'completed_at', s.completed_at, 'created_at', s.started_at
      ) ORDER BY s.seq), '[]')
      FROM automation_versions v
      CROSS JOIN LATERAL (
        SELECT 0 AS seq, 0 AS step, 'completed' AS status, NULL::jsonb AS output, NULL AS why, r.started_at,
          r.started_at AS completed_at
        UNION ALL
        SELECT s.seq, s.step, s.status, s.output,
          CASE WHEN s.status = 'skipped' THEN coalesce(s.output ->> 'reason', r.error) ELSE s.error END,
          s.started_at, s.completed_at
        FROM automation_run_steps s WHERE s.account_id = r.account_id AND s.run_id = r.id
      ) s
      CROSS JOIN LATERAL (SELECT v.graph -> 'steps' -> s.step AS step) g
      WHERE v.account_id = r.account_id AND v.automation_id = r.automation_id AND v.version = r.version
    ) AS steps
    FROM automation_runs r WHERE r.account_id = ${account_id} AND r.id = ${run_id} AND r.automation_id = ${id}
  `)
}

/** Counts runs per status, up to MAX_COUNT index entries each. */
export async function countRuns(db: Queryable, { account_id, id }: AutomationId): Promise<RunCounts> {
  const counts = RunStatus.options.map(
    status => sql.fragment`(
      SELECT count(*) FROM (
        SELECT FROM automation_runs
        WHERE account_id = ${account_id} AND automation_id = ${id} AND status = ${status} LIMIT ${MAX_COUNT}
      ) counted
    ) AS ${sql.identifier([status])}`,
  )
  return db.one(sql.type(RunCounts)`SELECT ${sql.join(counts, sql.fragment`, `)}`)
}
