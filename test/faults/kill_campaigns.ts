import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_URL, CampaignCaller } from '#test/faults/support/campaign_caller.ts'
import type { Postgres } from '#test/faults/support/postgres.ts'
import { recipient, type SinkProcess, type Stage } from '#test/faults/support/stage.ts'
import { addContacts, figuresOf, type QueuedCampaign } from '#test/support/campaigns.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

/** `kills` are kills of workers. `cancel_at`: percent of the recipients that have got the email by then. */
type Options = {
  recipients: number
  kills: number
  crashes: number
  web_kills: number
  connections: number
  cancel_at: number
  behaviour?: string
}

/** Time after a commit in which claims that began before it end. */
const CLAIMS_MS = 300
/** Contacts who unsubscribe after each kill. */
const LEAVERS = 20
/** They are chosen from this many who are next. */
const SOON = 500
const PATIENCE_MS = 300_000

/**
 * Workers and Postgres are killed again and again while a campaign is sent, contacts unsubscribe, and it is paused, resumed and
 * finally canceled through a web process that is killed too. Each recipient has one outcome; nobody gets the email twice, after
 * unsubscribing, or after the cancel.
 */
export async function killCampaigns(stage: Stage, options: Options, postgres?: Postgres): Promise<Report> {
  const { recipients, kills, crashes, web_kills, connections, cancel_at, behaviour = 'slow250-60' } = options
  const report = new Report()
  const sink = await stage.startSink()
  const people = Array.from({ length: recipients }, (_, n) => ({ email: recipient(behaviour, n) }))
  await addContacts(stage, stage.account, people)
  const caller = new CampaignCaller(stage, web_kills)
  const campaign = { account_id: stage.account.id, campaign_id: await caller.send() }
  const environment = { BASE_URL, MAIL_TRANSPORT: sink.url, SEND_CONNECTIONS: String(connections), LOG_LEVEL: 'fatal' }
  const workers = [1, 2].map(() => stage.supervise('test/faults/support/worker.ts', environment))

  const left = new Set<string>()
  const events = kills + crashes
  for (let n = 1; n <= events; n++) {
    await sink.ledger.reaches(Math.floor((recipients * cancel_at * n) / 100 / (events + 1)))
    if (n <= kills) {
      const victim = workers[n % 2]
      victim?.child.kill('SIGKILL')
      await victim?.child.ended
    } else if (postgres) {
      await postgres.kill()
      await postgres.start()
    }
    for (const address of await unsubscribe(stage, campaign)) left.add(address)
    if (n === Math.ceil(events / 2)) await pauseAndResume(stage, campaign, caller, report)
  }
  await sink.ledger.reaches(Math.floor((recipients * cancel_at) / 100))
  const claimed_after_cancel = await countClaimsAfter(stage, campaign, () =>
    caller.change(campaign.campaign_id, 'cancel', 'canceled'),
  )
  report.expect(claimed_after_cancel === 0, `${claimed_after_cancel} were claimed after the cancel`)
  await waitUntil(
    () => isOver(stage, campaign),
    async () => `the campaign is over: ${JSON.stringify(await figuresOf(stage, campaign))}`,
    PATIENCE_MS,
  )
  await Promise.all(workers.map(worker => worker.stop()))
  report.note({ recipients, kills, crashes, web_kills: caller.kills, unsubscribed: left.size })
  await judge(stage, campaign, sink, left, report)
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

async function judge(stage: Stage, campaign: QueuedCampaign, sink: SinkProcess, left: Set<string>, report: Report) {
  const figures = await figuresOf(stage, campaign)
  const { recipients, excluded = 0, delivered = 0, bounced = 0, failed = 0 } = figures
  const { suppressed = 0, canceled = 0, in_doubt = 0 } = figures
  const all = excluded + delivered + bounced + failed + suppressed + canceled + in_doubt
  report.note({ figures })
  report.expect(recipients === all, `${all} of ${recipients} recipients had an outcome`)
  const { rows } = await stage.pool.pg.query(
    `SELECT (SELECT count(*) FROM campaign_recipients WHERE campaign_id = $1)::int AS recipients,
      (SELECT count(*) FROM campaign_recipients WHERE campaign_id = $1 AND state = 'p')::int AS pending,
      (SELECT count(*) FROM deliveries WHERE campaign_id = $1 AND state = 'delivered')::int AS delivered,
      (SELECT count(*) FROM deliveries WHERE campaign_id = $1 AND state = 'in_doubt')::int AS in_doubt,
      (SELECT count(*) - count(DISTINCT contact_id) FROM emails WHERE campaign_id = $1)::int AS twice,
      (SELECT count(*) FROM campaigns WHERE account_id = $2)::int AS campaigns`,
    [campaign.campaign_id, campaign.account_id],
  )
  const stored = { recipients, pending: 0, delivered, in_doubt, twice: 0, campaigns: 1 }
  report.expect(JSON.stringify(rows[0]) === JSON.stringify(stored), `the rows are ${JSON.stringify(rows[0])}`)
  const reached = sink.ledger.read().map(({ rcpt }) => rcpt)
  const distinct = new Set(reached)
  report.expect(reached.length === distinct.size, `${reached.length - distinct.size} got it twice`)
  report.expect(
    distinct.size >= delivered && distinct.size <= delivered + in_doubt,
    `${distinct.size} got it, but ${delivered} are delivered`,
  )
  const mailed = [...left].filter(address => distinct.has(address))
  report.expect(mailed.length === 0, `${mailed} got it after they had unsubscribed`)
}

/** Unsubscribes some contacts whose email is not claimed, or not stored; returns those for whom this was still true afterwards. */
async function unsubscribe({ pool }: Stage, { campaign_id }: QueuedCampaign): Promise<string[]> {
  const { rows: chosen } = await retried(() =>
    pool.pg.query<{ id: string }>(
      `UPDATE contacts SET unsubscribed = true WHERE id IN (
        SELECT contact_id FROM (
          SELECT contact_id FROM campaign_recipients r LEFT JOIN deliveries d ON d.email_id = r.email_id
          WHERE r.campaign_id = $1 AND r.state IN ('p', 'm') AND coalesce(d.state, 'queued') = 'queued'
          ORDER BY d.id LIMIT $2
        ) soon
        ORDER BY random() LIMIT ${LEAVERS}
      ) RETURNING id`,
      [campaign_id, SOON],
    ),
  )
  await sleep(CLAIMS_MS)
  const { rows } = await retried(() =>
    pool.pg.query<{ email: string }>(
      `SELECT r.email FROM campaign_recipients r LEFT JOIN deliveries d ON d.email_id = r.email_id
       WHERE r.campaign_id = $1 AND r.contact_id = ANY ($2) AND (d.id IS NULL OR d.state = 'suppressed' OR d.state = 'queued' AND d.attempt = 0)`,
      [campaign_id, chosen.map(({ id }) => id)],
    ),
  )
  return rows.map(({ email }) => email)
}

async function pauseAndResume(stage: Stage, campaign: QueuedCampaign, caller: CampaignCaller, report: Report) {
  const { campaign_id } = campaign
  const claimed = await countClaimsAfter(stage, campaign, () => caller.change(campaign_id, 'pause', 'paused'))
  report.expect(claimed === 0, `${claimed} were claimed after the pause`)
  await caller.change(campaign_id, 'resume', 'queued')
}

/** Returns how many were claimed after the response to the request that stops the campaign. */
async function countClaimsAfter(stage: Stage, campaign: QueuedCampaign, stop: () => Promise<void>): Promise<number> {
  await stop()
  const before = await countClaims(stage, campaign)
  await sleep(2 * CLAIMS_MS)
  return Math.max(0, (await countClaims(stage, campaign)) - before)
}

async function countClaims({ pool }: Stage, { campaign_id }: QueuedCampaign): Promise<number> {
  const query = 'SELECT coalesce(sum(attempt), 0)::int AS claims FROM deliveries WHERE campaign_id = $1'
  return (await retried(() => pool.pg.query(query, [campaign_id]))).rows[0].claims
}

async function isOver({ pool }: Stage, { campaign_id }: QueuedCampaign): Promise<boolean> {
  const query = 'SELECT finished_at IS NOT NULL AS is_over FROM campaign_runs WHERE campaign_id = $1'
  return (await pool.pg.query(query, [campaign_id])).rows[0].is_over
}

/** Connections of the pool may have been lost with Postgres. */
async function retried<T>(run: () => Promise<T>): Promise<T> {
  let result: { value: T } | undefined
  await waitUntil(async () => {
    result = await run().then(
      value => ({ value }),
      () => undefined,
    )
    return result
  }, 'Postgres answers')
  return (result as { value: T }).value
}

/** node test/faults/kill_campaigns.ts [--recipients 20000] [--kills 15] [--crashes 3] [--web_kills 5] [--connections 40] [--cancel_at 90] */
if (import.meta.main) {
  const options = readOptions({
    recipients: 20_000,
    kills: 15,
    crashes: 3,
    web_kills: 5,
    connections: 40,
    cancel_at: 90,
  })
  await runCampaign('kill -9 of workers, web and Postgres while a campaign is sent', (stage, postgres) =>
    killCampaigns(stage, options, postgres),
  )
}
