import { type AutomationProcesses, sendEvent, startAutomations } from '#test/faults/support/automation_processes.ts'
import { waitForNone } from '#test/faults/support/deliveries.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { fillRuns } from '#test/support/automation_runs.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { runs: number }

const EVENT = 'trial.ended'
/** Contacts that enter by an event. */
const ENTERING = 10
/** Runs of the first version that continue after the edit. */
const EARLY = 200
/** Emails that are sent before the automation is stopped in the middle of its runs. */
const SENT_BEFORE_STOP = 500
const FOREVER = `now() + interval '300 days'`
/** Seconds within which all runs of a stopped automation must end. */
const STOPPED_SECONDS = 60
/** An email being sent at the time of the stop arrives within this time. */
const ON_ITS_WAY_MS = 5_000
const PATIENCE_MS = 120_000

/** An automation with the processes it runs in. */
type Scene = AutomationProcesses & { stage: Stage; id: string; runs: number; report: Report }

/**
 * An automation with many waiting runs is edited, stopped while its emails are sent, enabled again, and deleted. Runs keep the
 * version they began with, none continues after a stop, and no email is sent after its commit.
 */
export async function stopAutomations(stage: Stage, { runs }: Options): Promise<Report> {
  const report = new Report()
  const processes = await startAutomations(stage)
  const fields = { name: 'Trial', status: 'enabled', domain: stage.account.domain }
  const steps = stepsOf(stage, 'first version', '300 days')
  const { id } = await processes.ask<{ id: string }>('POST', '/automations', { ...fields, steps })
  const scene = { ...processes, stage, id, runs, report }
  report.note({ runs })
  await editWhileRunsWait(scene)
  const stop = await stopWhileMailLeaves(scene)
  await enableAnew(scene, stop)
  await judgeStop(scene, stop)
  await deleteWhileRunsWait(scene)
  await Promise.all(processes.workers.map(worker => worker.stop()))
  await report.consult(stage, { sent: processes.sink.ledger.read() })
  return report
}

async function editWhileRunsWait(scene: Scene): Promise<void> {
  const { stage, ask, id, runs, report } = scene
  await fillRuns(stage, stage.account, id, runs, FOREVER)
  await stage.pool.pg.query('ANALYZE')
  const steps = stepsOf(stage, 'second version', '1 second')
  const connections = steps.slice(1).map(({ key: to }, n) => ({ from: steps[n]?.key, to }))
  report.note({ edit_ms: await time(() => ask('PATCH', `/automations/${id}`, { steps, connections })) })
  await enter(scene, 'edited')
  await makeDue(scene, EARLY)
  await sendsAtLeast(scene, ENTERING + EARLY)
  const subjects = await subjectsByVersion(scene)
  report.expect(
    same(subjects, { 1: ['first version', EARLY], 2: ['second version', ENTERING] }),
    `the emails of each version are ${JSON.stringify(subjects)}`,
  )
}

/** The time of a stop, and the emails accepted before it. */
type Stop = { accepted: number; stopped_at: number }

async function stopWhileMailLeaves(scene: Scene): Promise<Stop> {
  const { ask, id, runs, report } = scene
  await makeDue(scene, runs)
  await sendsAtLeast(scene, SENT_BEFORE_STOP)
  report.note({ stop_ms: await time(() => ask('POST', `/automations/${id}/stop`)) })
  const stopped_at = Date.now()
  const accepted = await countEmails(scene)
  const ended_s = await noneLeft(scene, `status = 'running'`)
  report.note({ sent_before_stop: accepted, ended_s })
  report.expect(ended_s <= STOPPED_SECONDS, `runs ended only ${ended_s} s after the stop`)
  return { accepted, stopped_at }
}

async function enableAnew(scene: Scene, { accepted }: Stop): Promise<void> {
  await scene.ask('PATCH', `/automations/${scene.id}`, { status: 'enabled' })
  await enter(scene, 'anew')
  await sendsAtLeast(scene, accepted + ENTERING)
  await waitForNone(scene.stage, ['queued', 'sending'])
}

async function deleteWhileRunsWait(scene: Scene): Promise<void> {
  const { stage, ask, id, runs, report } = scene
  await fillRuns(stage, stage.account, id, runs, FOREVER)
  report.note({ delete_ms: await time(() => ask('DELETE', `/automations/${id}`)) })
  const gone_s = await noneLeft(scene, 'true')
  report.note({ gone_s })
  report.expect(gone_s <= STOPPED_SECONDS, `runs were removed only ${gone_s} s after the deletion`)
}

function stepsOf({ account: { domain } }: Stage, subject: string, duration: string) {
  const send = { from: `hi@${domain}`, subject, html: '<p>Your trial has ended.</p>' }
  return [
    { key: 'start', type: 'trigger', config: { event_name: EVENT } },
    { key: 'later', type: 'delay', config: { duration } },
    { key: 'hello', type: 'send_email', config: send },
  ]
}

/** Lets new contacts enter by an event. */
async function enter({ ask, stage }: Scene, when: string): Promise<void> {
  for (let n = 0; n < ENTERING; n++) await sendEvent(ask, stage, EVENT, `ok-${when}-${n}@c.com`)
}

/** Returns the duration of an action in ms. */
async function time(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return Math.round(performance.now() - began)
}

async function makeDue({ stage: { pool }, id }: Scene, count: number): Promise<void> {
  await pool.pg.query(
    `UPDATE automation_runs SET due_at = now(), wait_until = now() WHERE id IN (
       SELECT id FROM automation_runs WHERE automation_id = $1 AND due_at > now() + interval '1 day' LIMIT $2
     )`,
    [id, count],
  )
}

async function countEmails({ stage: { pool }, id }: Scene): Promise<number> {
  const { rows } = await pool.pg.query('SELECT count(*)::int AS count FROM emails WHERE automation_id = $1', [id])
  return rows[0].count
}

async function sendsAtLeast(scene: Scene, count: number): Promise<void> {
  await waitUntil(async () => (await countEmails(scene)) >= count, `${count} emails are accepted`, PATIENCE_MS)
}

/** Returns after how many seconds no run of the automation meets the condition. */
async function noneLeft({ stage: { pool }, id }: Scene, condition: string): Promise<number> {
  const query = `SELECT FROM automation_runs WHERE automation_id = $1 AND ${condition} LIMIT 1`
  const isSo = async () => (await pool.pg.query(query, [id])).rowCount === 0
  return (await time(() => waitUntil(isSo, `no run has ${condition}`, PATIENCE_MS))) / 1_000
}

type Subjects = Record<string, [subject: string, count: number]>

async function subjectsByVersion({ stage: { pool }, id }: Scene): Promise<Subjects> {
  const { rows } = await pool.pg.query(
    `SELECT r.version, e.subject, count(*)::int AS count FROM automation_run_steps s
     JOIN automation_runs r ON r.account_id = s.account_id AND r.id = s.run_id
     JOIN emails e ON e.account_id = s.account_id AND e.id = (s.output ->> 'email_id')::uuid
     WHERE r.automation_id = $1 GROUP BY 1, 2 ORDER BY 1, 2`,
    [id],
  )
  return Object.fromEntries(rows.map(({ version, subject, count }) => [version, [subject, count]]))
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

async function judgeStop(
  { stage: { pool }, sink, id, runs, report }: Scene,
  { accepted, stopped_at }: Stop,
): Promise<void> {
  const { rows } = await pool.pg.query(
    `SELECT (SELECT count(*) FROM automation_runs WHERE automation_id = $1)::int AS runs,
       (SELECT count(*) FROM automation_runs WHERE automation_id = $1 AND version = 1 AND status = 'completed')::int AS completed,
       (SELECT count(*) FROM automation_runs WHERE automation_id = $1 AND status = 'skipped')::int AS skipped,
       (SELECT count(*) FROM emails WHERE automation_id = $1)::int AS emails,
       (SELECT count(*) FROM emails WHERE automation_id = $1 AND status = 'delivered')::int AS delivered`,
    [id],
  )
  const { delivered, ...counts } = rows[0]
  const completed = accepted - ENTERING
  const skipped = runs - completed
  const expected = { runs: runs + 2 * ENTERING, completed, skipped, emails: accepted + ENTERING }
  report.expect(same(counts, expected), `the rows are ${JSON.stringify(counts)}, not ${JSON.stringify(expected)}`)
  const late = sink.ledger.read().filter(({ time, rcpt }) => time > stopped_at && !rcpt.startsWith('ok-anew'))
  const last_ms = Math.max(0, ...late.map(({ time }) => time - stopped_at))
  report.note({ delivered, on_its_way_at_stop: late.length, last_ms })
  report.expect(last_ms <= ON_ITS_WAY_MS, `an email arrived ${last_ms} ms after the stop`)
}

/** node test/faults/stop_automations.ts [--runs 100000] */
if (import.meta.main) {
  const options = readOptions({ runs: 100_000 })
  await runCampaign('an automation in which runs wait is edited, stopped and deleted', stage =>
    stopAutomations(stage, options),
  )
}
