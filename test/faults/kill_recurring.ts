import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_URL, CampaignCaller } from '#test/faults/support/campaign_caller.ts'
import type { Supervised } from '#test/faults/support/child.ts'
import { recipient, type SinkProcess, type Stage } from '#test/faults/support/stage.ts'
import { makeNextRunDue } from '#test/support/campaign_runs.ts'
import { addContacts, type QueuedCampaign } from '#test/support/campaigns.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

/** `recipients`: of the first run. `kills`: of workers, per run. */
type Options = { runs: number; recipients: number; kills: number; web_kills: number }

/** Before each run this many contacts unsubscribe and as many others join; more join during the run. */
const SHARE = 0.05
/** The part of a run that is still to be sent when the first worker is killed. */
const LEFT = 0.1
const KILLED_WITHIN_MS = 400
const PATIENCE_MS = 120_000

/**
 * Workers are killed while each run of a recurring campaign begins and ends, and contacts join and leave meanwhile. Every run
 * takes place once and goes to those who were subscribed when it began, once each.
 */
export async function killRecurring(stage: Stage, options: Options): Promise<Report> {
  const { runs, recipients, kills, web_kills } = options
  const report = new Report()
  const sink = await stage.startSink()
  const people = new People(stage)
  await people.join(recipients)
  const caller = new CampaignCaller(stage, web_kills)
  const campaign_id = await caller.send({ recurrence: 'daily', scheduled_at: 'in 2 hours' })
  const campaign = { account_id: stage.account.id, campaign_id }
  const environment = { BASE_URL, MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' }
  const workers = [1, 2].map(() => stage.supervise('test/faults/support/worker.ts', environment))
  const expected: string[][] = []
  for (let run = 1; run <= runs; run++) {
    await people.leave(Math.floor(recipients * SHARE))
    await people.join(Math.floor(recipients * SHARE))
    expected.push(await people.subscribed())
    await makeNextRunDue(stage, campaign)
    const begins = runIs(stage, campaign, run, 'true')
    if (kills > 0) await kill(workers[run % 2])
    await begins
    await people.join(Math.floor(recipients * SHARE))
    for (let n = 1; n < kills; n++) {
      const left = Math.floor((people.count * LEFT) / n ** 2)
      await runIs(stage, campaign, run, `found_at IS NOT NULL AND ${UNFINISHED} <= ${left}`)
      await kill(workers[n % 2])
    }
    await runIs(stage, campaign, run, 'finished_at IS NOT NULL')
  }
  await Promise.all(workers.map(worker => worker.stop()))
  report.note({ runs, recipients: expected.map(({ length }) => length), kills: runs * kills, web_kills: caller.kills })
  await judge(stage, campaign, sink, expected, report)
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

const UNFINISHED = `(
  (SELECT count(*) FROM campaign_recipients r WHERE r.campaign_id = u.campaign_id AND r.run = u.run AND r.state = 'p')
  + (SELECT count(*) FROM deliveries d WHERE d.campaign_id = u.campaign_id AND d.state IN ('queued', 'sending')))`

/** Waits until this many runs have begun and the newest one meets a condition. */
async function runIs({ pool }: Stage, { campaign_id }: QueuedCampaign, run: number, condition: string): Promise<void> {
  const query = `SELECT FROM campaign_runs u WHERE campaign_id = $1 AND run = $2 AND ${condition}`
  const isSo = async () => (await pool.pg.query(query, [campaign_id, run])).rowCount === 1
  await waitUntil(isSo, `run ${run}: ${condition}`, PATIENCE_MS)
}

async function kill(worker: Supervised | undefined): Promise<void> {
  await sleep(Math.random() * KILLED_WITHIN_MS)
  worker?.child.kill('SIGKILL')
  await worker?.child.ended
}

/** The contacts of the account. */
class People {
  count = 0
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async join(count: number): Promise<void> {
    const people = Array.from({ length: count }, (_, n) => ({ email: recipient('ok', this.count + n) }))
    await addContacts(this.#stage, this.#stage.account, people)
    this.count += count
  }

  async leave(count: number): Promise<void> {
    await this.#stage.pool.pg.query(
      `UPDATE contacts SET unsubscribed = true WHERE id IN (
        SELECT id FROM contacts WHERE account_id = $1 AND NOT unsubscribed ORDER BY random() LIMIT $2)`,
      [this.#stage.account.id, count],
    )
  }

  /** The ids, sorted. */
  async subscribed(): Promise<string[]> {
    const query = 'SELECT id FROM contacts WHERE account_id = $1 AND NOT unsubscribed ORDER BY id'
    const { rows } = await this.#stage.pool.pg.query(query, [this.#stage.account.id])
    return rows.map(({ id }) => id)
  }
}

async function judge(
  { pool }: Stage,
  campaign: QueuedCampaign,
  sink: SinkProcess,
  expected: string[][],
  report: Report,
) {
  const { rows: runs } = await pool.pg.query(
    `SELECT u.run, u.outcome, u.skipped, u.scheduled_at = g.first_run_at + (u.run - 1) * interval '1 day' AS is_in_time,
      (SELECT array_agg(contact_id ORDER BY contact_id) FROM campaign_recipients r WHERE r.campaign_id = u.campaign_id AND r.run = u.run)
        AS recipients,
      (SELECT count(*) FROM emails e WHERE e.campaign_id = u.campaign_id AND e.campaign_run = u.run)::int AS emails,
      (SELECT count(DISTINCT contact_id) FROM emails e WHERE e.campaign_id = u.campaign_id AND e.campaign_run = u.run)::int AS contacts
     FROM campaign_runs u JOIN campaigns g ON g.id = u.campaign_id WHERE u.campaign_id = $1 ORDER BY u.run`,
    [campaign.campaign_id],
  )
  report.expect(runs.length === expected.length, `${runs.length} runs took place, not ${expected.length}`)
  for (const [n, { recipients, ...run }] of runs.entries()) {
    const people = expected[n] ?? []
    const right = {
      run: n + 1,
      outcome: 'sent',
      skipped: 0,
      is_in_time: true,
      emails: people.length,
      contacts: people.length,
    }
    report.expect(
      JSON.stringify(run) === JSON.stringify(right),
      `a run is ${JSON.stringify(run)}, not ${JSON.stringify(right)}`,
    )
    report.expect(String(recipients) === String(people), `run ${n + 1} did not go to exactly the subscribed contacts`)
  }
  const { rows } = await pool.pg.query(
    `SELECT count(*) FILTER (WHERE state = 'delivered')::int AS delivered, count(*) FILTER (WHERE state = 'in_doubt')::int AS in_doubt,
      count(*)::int AS deliveries FROM deliveries WHERE campaign_id = $1`,
    [campaign.campaign_id],
  )
  const { delivered, in_doubt, deliveries } = rows[0]
  const arrived = sink.ledger.read().length
  report.note({ delivered, in_doubt, arrived })
  report.expect(delivered + in_doubt === deliveries, `${deliveries - delivered - in_doubt} emails have no outcome`)
  report.expect(sink.ledger.duplicates() === 0, `${sink.ledger.duplicates()} arrived twice`)
  report.expect(
    arrived >= delivered && arrived <= delivered + in_doubt,
    `${arrived} arrived, but ${delivered} are delivered`,
  )
}

/** node test/faults/kill_recurring.ts [--runs 20] [--recipients 2000] [--kills 4] [--web_kills 3] */
if (import.meta.main) {
  const options = readOptions({ runs: 20, recipients: 2_000, kills: 4, web_kills: 3 })
  await runCampaign('kill -9 of workers around the runs of a recurring campaign', stage =>
    killRecurring(stage, options),
  )
}
