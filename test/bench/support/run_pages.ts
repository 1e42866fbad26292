import type { RunStatus } from '#lib/automations/run_status.ts'
import { listRuns } from '#sql/automations/runs.ts'
import { storeAutomation } from '#test/support/automation_runs.ts'
import { percentile, report, type Stage } from './stage.ts'

/** FINISHED=1000000 is the size of the goal. */
const FINISHED = Number(process.env.FINISHED ?? 200_000)
const FEW = 10_000
/** Runs are created in sets of this size. */
const BATCH = 50_000
const LIMIT = 100
const ROUNDS = 100

type Place = { id: string; domain_id: string }

/** Pages of the runs of an automation with a million finished runs, compared with a hundredth of them. */
export async function benchRunPages(stage: Stage, account: Place): Promise<void> {
  const many = await finishRuns(stage, account, FINISHED)
  const few = await finishRuns(stage, account, FEW)
  await stage.pool.pg.query('ANALYZE automation_runs')
  const shapes: [name: string, statuses: RunStatus[], is_deep: boolean][] = [
    ['first page', [], false],
    ['page in the middle', [], true],
    ['completed', ['completed'], false],
    ['failed, one in a thousand', ['failed'], false],
    ['running, none', ['running'], false],
  ]
  for (const [name, statuses, is_deep] of shapes) {
    const times: Record<string, number[]> = { [many.id]: [], [few.id]: [] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const { id, middle } of [many, few]) {
        const began = performance.now()
        await listRuns(stage.pool, { account_id: account.id, id }, statuses, {
          limit: LIMIT,
          ...(is_deep && { after: middle }),
        })
        times[id]?.push(performance.now() - began)
      }
    }
    const [slow, quick] = [many, few].map(({ id }) => percentile(times[id] as number[], 0.5)) as [number, number]
    const value = `p50 ${slow.toFixed(1)} ms of ${FINISHED}, ${quick.toFixed(1)} ms of ${FEW}`
    report(`runs of an automation, ${name}`, value, '<= 3 times', slow <= 3 * quick)
  }
}

async function finishRuns({ pool }: Stage, account: Place, count: number): Promise<{ id: string; middle: string }> {
  const id = await storeAutomation({ pool }, account)
  for (let from = 1; from <= count; from += BATCH) {
    await pool.pg.query(
      `INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, status, due_at,
         completed_at)
       SELECT $1, ordered_id(id_time(now()), n, random_tail()), $2, 1, $3, gen_random_uuid(), 'p' || n || '@b.com',
         CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'completed' END, NULL, now()
       FROM generate_series($4::int, $5::int) AS n`,
      [account.id, id, account.domain_id, from, Math.min(count, from + BATCH - 1)],
    )
  }
  const query = 'SELECT id FROM automation_runs WHERE automation_id = $1 ORDER BY id OFFSET $2 LIMIT 1'
  return { id, middle: (await pool.pg.query(query, [id, Math.floor(count / 2)])).rows[0].id }
}
