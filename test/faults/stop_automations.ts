import { callerOf } from '#test/faults/support/api_caller.ts'
import { waitForNone } from '#test/faults/support/deliveries.ts'
import type { Entry } from '#test/faults/support/sink_ledger.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { fillRuns } from '#test/support/automation_runs.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { runs: number }
type Automation = { id: string; version: number }

const EVENT = 'trial.ended'
/** Contacts that enter by an event. */
const ENTERING = 10
/** Runs of the first version that go on after the edit. */
const EARLY = 200
/** Emails that are sent before the automation is stopped in the middle of its runs. */
const SENT_BEFORE_STOP = 500
const FOREVER = `now() + interval '300 days'`
/** All runs of a stopped automation have ended after so many seconds. */
const STOPPED_SECONDS = 60
/** What was handed to a connection before the stop has arrived by then. */
const ON_ITS_WAY_MS = 5_000
const PATIENCE_MS = 120_000

/**
 * Row M16: an automation in which many runs wait is edited, stopped while its emails go out, enabled anew, and deleted. Runs keep
 * to the version that they began with, none goes on after a stop, and no mail leaves after its commit.
 */
export async function stopAutomations(stage: Stage, { runs }: Options): Promise<Report> {
  const report = new Report()
  const sink = await stage.startSink()
  const { url } = await stage.startWeb({ BASE_URL: 'https://mail.acme.com', LOG_LEVEL: 'info' })
  const ask = callerOf(url, stage)
  const environment = { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' }
  const workers = [1, 2].map(() => stage.supervise('test/faults/support/worker.ts', environment))

  const { id } = await ask<Automation>('POST', '/automations', automationOf(stage, 'first version', '300 days'))
  await fillRuns(stage, stage.account, id, runs, FOREVER)
  await stage.pool.pg.query('ANALYZE')

  report.note({ runs, edit_ms: await time(() => edit(ask, id, automationOf(stage, 'second version', '1 second'))) })
  await enter(ask, stage, 'edited')
  await makeDue(stage, id, EARLY)
  await sendsAtLeast(stage, id, ENTERING + EARLY)
  report.expect(
    same(await subjectsByVersion(stage, id), { 1: ['first version', EARLY], 2: ['second version', ENTERING] }),
    `the mail of each version is ${JSON.stringify(await subjectsByVersion(stage, id))}`,
  )

  await makeDue(stage, id, runs)
  await sendsAtLeast(stage, id, SENT_BEFORE_STOP)
  report.note({ stop_ms: await time(() => ask('POST', `/automations/${id}/stop`)) })
  const stopped_at = Date.now()
  const accepted = await countEmails(stage, id)
  const ended_s = (await time(() => hasNone(stage, `status = 'running'`, id))) / 1_000
  report.note({ sent_before_stop: accepted, ended_s })
  report.expect(ended_s <= STOPPED_SECONDS, `runs end ${ended_s} s after the stop`)

  await ask('PATCH', `/automations/${id}`, { status: 'enabled' })
  await enter(ask, stage, 'anew')
  await sendsAtLeast(stage, id, accepted + ENTERING)
  await waitForNone(stage, ['queued', 'sending'])
  await judgeStop(stage, id, sink.ledger.read(), { runs, accepted, stopped_at }, report)

  await fillRuns(stage, stage.account, id, runs, FOREVER)
  report.note({ delete_ms: await time(() => ask('DELETE', `/automations/${id}`)) })
  const gone_s = (await time(() => hasNone(stage, 'true', id))) / 1_000
  report.note({ gone_s })
  report.expect(gone_s <= STOPPED_SECONDS, `runs are gone ${gone_s} s after the deletion`)
  await Promise.all(workers.map(worker => worker.stop()))
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

function automationOf({ account: { domain } }: Stage, subject: string, duration: string) {
  const send = { from: `hi@${domain}`, subject, html: '<p>Your trial has ended.</p>' }
  return {
    ...{ name: 'Trial', status: 'enabled', domain },
    steps: [
      { key: 'start', type: 'trigger', config: { event_name: EVENT } },
      { key: 'later', type: 'delay', config: { duration } },
      { key: 'hello', type: 'send_email', config: send },
    ],
  }
}

async function edit(ask: ReturnType<typeof callerOf>, id: string, { steps }: ReturnType<typeof automationOf>) {
  const connections = steps.slice(1).map(({ key: to }, n) => ({ from: steps[n]?.key, to }))
  await ask('PATCH', `/automations/${id}`, { steps, connections })
}

/** Sends the event of new contacts. */
async function enter(ask: ReturnType<typeof callerOf>, { account: { domain } }: Stage, when: string): Promise<void> {
  for (let n = 0; n < ENTERING; n++) {
    await ask('POST', '/events/send', { event: EVENT, domain, email: `ok-${when}-${n}@c.com` })
  }
}

async function time(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return Math.round(performance.now() - began)
}

async function makeDue({ pool }: Stage, id: string, count: number): Promise<void> {
  await pool.pg.query(
    `UPDATE automation_runs SET due_at = now(), wait_until = now() WHERE id IN (
       SELECT id FROM automation_runs WHERE automation_id = $1 AND due_at > now() + interval '1 day' LIMIT $2
     )`,
    [id, count],
  )
}

async function countEmails({ pool }: Stage, id: string): Promise<number> {
  const { rows } = await pool.pg.query('SELECT count(*)::int AS count FROM emails WHERE automation_id = $1', [id])
  return rows[0].count
}

async function sendsAtLeast(stage: Stage, id: string, count: number): Promise<void> {
  await waitUntil(async () => (await countEmails(stage, id)) >= count, `${count} emails are accepted`, PATIENCE_MS)
}

/** Resolves once no run of the automation is as the condition says. */
async function hasNone({ pool }: Stage, condition: string, id: string): Promise<void> {
  const query = `SELECT FROM automation_runs WHERE automation_id = $1 AND ${condition} LIMIT 1`
  await waitUntil(async () => (await pool.pg.query(query, [id])).rowCount === 0, `no run has ${condition}`, PATIENCE_MS)
}

type Subjects = Record<string, [subject: string, count: number]>

async function subjectsByVersion({ pool }: Stage, id: string): Promise<Subjects> {
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

type Stop = { runs: number; accepted: number; stopped_at: number }

async function judgeStop(
  { pool }: Stage,
  id: string,
  sent: Entry[],
  { runs, accepted, stopped_at }: Stop,
  report: Report,
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
  const expected = {
    ...{ runs: runs + 2 * ENTERING, completed, skipped: runs - completed, emails: accepted + ENTERING },
  }
  report.expect(same(counts, expected), `the rows say ${JSON.stringify(counts)}, not ${JSON.stringify(expected)}`)
  const late = sent.filter(({ time, rcpt }) => time > stopped_at && !rcpt.startsWith('ok-anew'))
  const last_ms = Math.max(0, ...late.map(({ time }) => time - stopped_at))
  report.note({ delivered, on_its_way_at_stop: late.length, last_ms })
  report.expect(last_ms <= ON_ITS_WAY_MS, `mail arrives ${last_ms} ms after the stop`)
}

/** node test/faults/stop_automations.ts [--runs 100000] */
if (import.meta.main) {
  const options = readOptions({ runs: 100_000 })
  await runCampaign('an automation in which runs wait is edited, stopped and deleted', stage =>
    stopAutomations(stage, options),
  )
}
