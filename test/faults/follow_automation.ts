import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from '#test/faults/support/api_caller.ts'
import { sendEvent, startAutomations } from '#test/faults/support/automation_processes.ts'
import type { Supervised } from '#test/faults/support/child.ts'
import { waitForNone } from '#test/faults/support/deliveries.ts'
import type { Entry } from '#test/faults/support/sink_ledger.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { contactsOf, type Kind, seriesOf, type Version, WAYS } from '#test/faults/support/trial_series.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { people: number; timeout_seconds: number }
type Step = { key: string; output: { email_id?: string } | null }
type Run = { id: string; contact_email: string; status: string; version: number; steps: Step[] }

/** Contacts whose runs are waiting when the automation is stopped. */
const STOPPED = 10
const PATIENCE_MS = 120_000

/**
 * Contacts go through a realistic automation with a condition and a wait: it is edited while half of them wait, workers are
 * killed twice, and finally it is stopped. The run of each contact lists what happened, and the contact got exactly the emails
 * in its run, once each, unless an email is marked as in doubt.
 */
export async function followAutomation(stage: Stage, { people, timeout_seconds }: Options): Promise<Report> {
  const report = new Report()
  const { ask, workers, sink } = await startAutomations(stage)
  const kill = async ({ child }: Supervised) => {
    child.kill('SIGKILL')
    await child.ended
  }

  await ask('POST', '/events', { name: 'trial.started', schema: { plan: 'string' } })
  const series = seriesOf(stage, timeout_seconds)
  const { id } = await ask<{ id: string }>('POST', '/automations', series(1))
  const half = { 1: contactsOf(1, people / 2), 2: contactsOf(2, people / 2) }
  const enter = async (version: Version) => {
    for (const { kind, email } of half[version]) {
      await sendEvent(ask, stage, 'trial.started', email, { plan: kind === 'free' ? 'free' : 'pro' })
      if (kind === 'before') await sendEvent(ask, stage, 'trial.bought', email)
    }
  }
  const buy = async (kind: Kind) => {
    const buyers = [...half[1], ...half[2]].filter(contact => contact.kind === kind)
    for (const { email } of buyers) await sendEvent(ask, stage, 'trial.bought', email)
  }

  await enter(1)
  await takes(stage, id, 'order', people / 4)
  const { steps, connections } = series(2)
  await ask('PATCH', `/automations/${id}`, { steps, connections })
  await Promise.all([enter(2), sleep(200).then(() => kill(workers[0]))])
  await takes(stage, id, 'order', people / 2)
  await Promise.all([buy('during'), kill(workers[1])])
  await ended(stage, id, people)
  await buy('late')

  await stopWhileSomeWait(stage, ask, id, people)
  await Promise.all(workers.map(worker => worker.stop()))

  const runs = await readRuns(ask, id)
  report.expect(runs.length === people + STOPPED, `there are ${runs.length} runs`)
  report.note({ people, stopped: STOPPED, kills: 2, runs: runs.length, mail: sink.ledger.read().length })
  await judge(stage, runs, sink.ledger.read(), report)
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

/** More contacts reach the wait, and buy when the automation is stopped. */
async function stopWhileSomeWait(stage: Stage, ask: Ask, id: string, people: number): Promise<void> {
  const emails = Array.from({ length: STOPPED }, (_, n) => `ok-stopped-${n}@b.com`)
  for (const email of emails) await sendEvent(ask, stage, 'trial.started', email, { plan: 'pro' })
  await takes(stage, id, 'order', STOPPED)
  await mailLeft(stage)
  await ask('POST', `/automations/${id}/stop`)
  for (const email of emails) await sendEvent(ask, stage, 'trial.bought', email)
  await ended(stage, id, people + STOPPED)
  await mailLeft(stage)
}

/** Resolves once this many runs wait in a step. */
async function takes({ pool }: Stage, id: string, key: string, count: number): Promise<void> {
  const query = `SELECT count(*)::int AS count FROM automation_runs r
    JOIN automation_versions v ON v.automation_id = r.automation_id AND v.version = r.version
    WHERE r.automation_id = $1 AND r.status = 'running' AND v.graph -> 'steps' -> r.step ->> 'key' = $2`
  const isSo = async () => (await pool.pg.query(query, [id, key])).rows[0].count >= count
  await waitUntil(isSo, `${count} runs are at ${key}`, PATIENCE_MS)
}

/** Resolves once this many runs have ended. */
async function ended({ pool }: Stage, id: string, count: number): Promise<void> {
  const query = `SELECT count(*)::int AS count FROM automation_runs WHERE automation_id = $1 AND status <> 'running'`
  const isSo = async () => (await pool.pg.query(query, [id])).rows[0].count === count
  await waitUntil(isSo, `${count} runs have ended`, PATIENCE_MS)
}

/** Resolves once all emails are sent. Those in doubt after a kill are held, like all bulk mail. */
async function mailLeft(stage: Stage): Promise<void> {
  await waitForNone(stage, ['queued', 'sending'])
}

/** All runs with their steps, as the API shows them. */
async function readRuns(ask: Ask, id: string): Promise<Run[]> {
  const runs: Run[] = []
  for (let after = ''; ; ) {
    const page = await ask<{ data: Run[]; has_more: boolean }>('GET', `/automations/${id}/runs?limit=100${after}`)
    for (const run of page.data) runs.push(await ask<Run>('GET', `/automations/${id}/runs/${run.id}`))
    if (!page.has_more) return runs
    after = `&after=${page.data.at(-1)?.id}`
  }
}

async function judge({ pool }: Stage, runs: Run[], sent: Entry[], report: Report): Promise<void> {
  const { rows } = await pool.pg.query(
    `SELECT e.id, e.subject, '<' || e.message_id || '>' AS message_id, d.in_doubt_count > 0 AS was_in_doubt
     FROM emails e JOIN deliveries d ON d.account_id = e.account_id AND d.email_id = e.id`,
  )
  const emails = new Map(rows.map(row => [row.id, row]))
  const arrivals = Map.groupBy(sent, ({ message_id }) => message_id)
  let told = 0
  for (const { contact_email, status, version, steps } of runs) {
    const [, kind, entered] = /^ok-([a-z]+)-(\d+)/.exec(contact_email) as unknown as [string, Kind | 'stopped', string]
    const { steps: keys, subjects } = WAYS[kind]
    const mail = steps.flatMap(({ output }) => (output?.email_id ? [emails.get(output.email_id)] : []))
    const through = kind === 'stopped' ? 2 : Number(entered)
    const seen = { status, version, steps: steps.map(({ key }) => key), subjects: mail.map(email => email?.subject) }
    const expected = {
      ...{ status: kind === 'stopped' ? 'skipped' : 'completed', version: through },
      ...{ steps: keys, subjects: subjects.map(subject => `${subject} ${through}`) },
    }
    report.expect(JSON.stringify(seen) === JSON.stringify(expected), `${contact_email}: ${JSON.stringify(seen)}`)
    for (const email of mail) {
      const copies = arrivals.get(email?.message_id)?.length ?? 0
      told += copies
      report.expect(copies === 1 || (copies === 0 && email.was_in_doubt), `${contact_email} got ${copies} copies`)
    }
  }
  report.expect(told === sent.length, `${sent.length} messages arrived, but the runs list ${told}`)
}

/** node test/faults/follow_automation.ts [--people 104] [--timeout_seconds 20] */
if (import.meta.main) {
  const options = readOptions({ people: 104, timeout_seconds: 20 })
  await runCampaign('contacts go through an automation that is edited and stopped, while workers die', stage =>
    followAutomation(stage, options),
  )
}
