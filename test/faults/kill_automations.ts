import { recipient, type Stage } from '#test/faults/support/stage.ts'
import { startRuns, storeAutomation } from '#test/support/automation_runs.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { runs: number; kills: number }

const PATIENCE_MS = 120_000
/** Emails per run; its steps are these, as many delays, and a change of the contact. */
const SENDS = 3

/**
 * Workers are killed again and again while runs take delays, emails and changes of contacts. Each step of each run is taken
 * once, its email exists if and only if the step is completed, and no run waits long after a worker was killed.
 */
async function killAutomations(stage: Stage, { runs, kills }: Options): Promise<Report> {
  const report = new Report()
  const people = Array.from({ length: runs }, (_, n) => ({ email: recipient('ok', n) }))
  const contacts = await addContacts(stage, stage.account, people)
  const send = { from: `hi@${stage.account.domain}`, subject: 'Hello', html: '<p>Hello {{contact.last_name|you}}</p>' }
  const steps = Array.from({ length: SENDS }, (_, n) => [
    { key: `send${n}`, type: 'send_email', config: { ...send, subject: `Number ${n}` } },
    { key: `delay${n}`, type: 'delay', config: { duration: '1 second' } },
  ])
  const update = { type: 'contact_update', config: { last_name: 'done' } }
  const automation = await storeAutomation(stage, stage.account, [...steps.flat(), update])
  const environment = { MAIL_TRANSPORT: 'capture', LOG_LEVEL: 'fatal' }
  const workers = [1, 2].map(() => stage.supervise('test/faults/support/worker.ts', environment))
  for (let n = 0; n < runs; n += 1_000) await startRuns(stage, stage.account, automation, contacts.slice(n, n + 1_000))

  const total = runs * (2 * SENDS + 1)
  for (let n = 1; n <= kills; n++) {
    const wanted = Math.floor((total * n) / (kills + 1))
    await waitUntil(async () => (await countSteps(stage)) >= wanted, `${wanted} steps are taken`, PATIENCE_MS)
    const victim = workers[n % 2]
    victim?.child.kill('SIGKILL')
    await victim?.child.ended
  }
  await waitUntil(async () => (await countRunning(stage)) === 0, 'all runs have ended', PATIENCE_MS)
  await Promise.all(workers.map(worker => worker.stop()))
  report.note({ runs, kills, steps: total })
  await judge(stage, automation, runs, report)
  await report.consult(stage)
  return report
}

async function countSteps({ pool }: Stage): Promise<number> {
  const query = `SELECT count(*)::int AS count FROM automation_run_steps WHERE status = 'completed'`
  return (await pool.pg.query(query)).rows[0].count
}

async function countRunning({ pool }: Stage): Promise<number> {
  const query = `SELECT count(*)::int AS count FROM automation_runs WHERE status = 'running'`
  return (await pool.pg.query(query)).rows[0].count
}

async function judge({ pool }: Stage, automation: string, runs: number, report: Report): Promise<void> {
  const { rows } = await pool.pg.query(
    `SELECT (SELECT count(*) FROM automation_runs WHERE status = 'completed')::int AS completed,
      (SELECT count(*) FROM automation_run_steps WHERE status = 'completed')::int AS steps,
      (SELECT count(*) FROM emails WHERE automation_id = $1)::int AS emails,
      (SELECT count(*) FROM automation_run_steps s
       JOIN emails e ON e.account_id = s.account_id AND e.id = (s.output ->> 'email_id')::uuid)::int AS told,
      (SELECT count(*) FROM (SELECT contact_id, subject FROM emails GROUP BY 1, 2 HAVING count(*) > 1) t)::int AS twice,
      (SELECT count(*) FROM contacts WHERE last_name = 'done')::int AS updated,
      (SELECT count(*) FROM (
         SELECT run_id FROM automation_run_steps GROUP BY run_id HAVING max(seq) <> count(*) OR min(seq) <> 1
       ) g)::int AS gaps`,
    [automation],
  )
  const emails = runs * SENDS
  const expected = {
    completed: runs,
    steps: runs * (2 * SENDS + 1),
    emails,
    told: emails,
    twice: 0,
    updated: runs,
    gaps: 0,
  }
  report.expect(JSON.stringify(rows[0]) === JSON.stringify(expected), `the rows are ${JSON.stringify(rows[0])}`)
}

/** node test/faults/kill_automations.ts [--runs 5000] [--kills 50] */
if (import.meta.main) {
  const options = readOptions({ runs: 5_000, kills: 50 })
  await runCampaign('kill -9 of workers while runs of automations advance', stage => killAutomations(stage, options))
}
