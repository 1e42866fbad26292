import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_URL, CampaignCaller } from '#test/faults/support/campaign_caller.ts'
import type { Supervised } from '#test/faults/support/child.ts'
import { recipient, type Stage } from '#test/faults/support/stage.ts'
import { addContacts, type QueuedCampaign } from '#test/support/campaigns.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { tests: number; recipients: number }

const AB_TEST = {
  test_percentage: 40,
  variants: [
    { key: 'A', subject: 'Red' },
    { key: 'B', subject: 'Blue' },
  ],
}
/** Contacts who unsubscribe while they wait for the winner. */
const LEAVERS = 10
/** A worker is killed at most this long after the decision is due: before it, during it, or while the rest is sent. */
const KILLED_WITHIN_MS = 250
const PATIENCE_MS = 120_000

/**
 * Both workers are killed around the decisions of A/B tests, half of which are also made by hand at the same moment. The
 * remaining recipients get one variant, once each, and those who unsubscribed while waiting get none.
 */
async function decideAbTests(stage: Stage, { tests, recipients }: Options): Promise<Report> {
  const report = new Report()
  const sink = await stage.startSink()
  const contacts = Array.from({ length: recipients }, (_, n) => ({ email: recipient('ok', n) }))
  await addContacts(stage, stage.account, contacts)
  const environment = { BASE_URL, MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' }
  const workers = [1, 2].map(() => stage.supervise('test/faults/support/worker.ts', environment))
  const caller = new CampaignCaller(stage, 0)
  const decided: Record<string, number> = {}
  for (let n = 0; n < tests; n++) {
    const campaign_id = await caller.send({ subject: `Test ${n}`, ab_test: AB_TEST })
    const campaign = { account_id: stage.account.id, campaign_id }
    await reaches(stage, campaign, 'decide_at IS NOT NULL', 'its test is sent')
    const left = await unsubscribeWaiting(stage, campaign)
    await isDue(stage, campaign)
    const by_hand = n % 2 === 1 ? caller.choose(campaign_id, 'B') : null
    await Promise.all(workers.map(kill))
    await by_hand
    await reaches(stage, campaign, 'finished_at IS NOT NULL', 'it is over')
    const by = await judge(stage, campaign, left, report)
    decided[by] = (decided[by] ?? 0) + 1
  }
  await Promise.all(workers.map(worker => worker.stop()))
  report.note({ tests, recipients, decided })
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

async function kill(worker: Supervised): Promise<void> {
  await sleep(Math.random() * KILLED_WITHIN_MS)
  worker.child.kill('SIGKILL')
  await worker.child.ended
}

async function reaches({ pool }: Stage, { campaign_id }: QueuedCampaign, condition: string, what: string) {
  const query = `SELECT FROM campaign_runs WHERE campaign_id = $1 AND ${condition}`
  await waitUntil(async () => (await pool.pg.query(query, [campaign_id])).rowCount === 1, what, PATIENCE_MS)
}

/** Unsubscribes some contacts who wait for the winner; returns their ids. */
async function unsubscribeWaiting({ pool }: Stage, { campaign_id }: QueuedCampaign): Promise<string[]> {
  const { rows } = await pool.pg.query<{ id: string }>(
    `UPDATE contacts SET unsubscribed = true WHERE id IN (
      SELECT contact_id FROM campaign_recipients WHERE campaign_id = $1 AND state = 'p' ORDER BY random() LIMIT ${LEAVERS}
    ) RETURNING id`,
    [campaign_id],
  )
  return rows.map(({ id }) => id)
}

/** Makes the decision due. */
async function isDue({ pool }: Stage, { campaign_id }: QueuedCampaign): Promise<void> {
  await pool.pg.query('UPDATE campaign_runs SET decide_at = now(), next_at = now() WHERE campaign_id = $1', [
    campaign_id,
  ])
  await pool.pg.query('UPDATE graphile_worker._private_jobs SET run_at = now() WHERE key = $1', [
    `send_campaign ${campaign_id}`,
  ])
}

/** Returns who made the decision. */
async function judge(
  { pool }: Stage,
  { campaign_id }: QueuedCampaign,
  left: string[],
  report: Report,
): Promise<string> {
  const { rows } = await pool.pg.query(
    `SELECT u.decided_by,
      (SELECT count(*) FROM campaign_recipients r WHERE r.campaign_id = u.campaign_id AND r.state = 'p')::int AS pending,
      (SELECT count(*) - count(DISTINCT contact_id) FROM emails e WHERE e.campaign_id = u.campaign_id)::int AS twice,
      (SELECT count(*) FROM emails e WHERE e.campaign_id = u.campaign_id AND e.contact_id = ANY ($2))::int AS mailed,
      (SELECT count(*) FROM emails e WHERE e.campaign_id = u.campaign_id
        AND e.subject <> (CASE u.decided_variant WHEN 1 THEN 'Red' ELSE 'Blue' END)
        AND e.created_at >= u.decided_at)::int AS other_variant
    FROM campaign_runs u WHERE u.campaign_id = $1`,
    [campaign_id, left],
  )
  const { decided_by, ...counted } = rows[0]
  const expected = { pending: 0, twice: 0, mailed: 0, other_variant: 0 }
  report.expect(JSON.stringify(counted) === JSON.stringify(expected), `${campaign_id}: ${JSON.stringify(counted)}`)
  return decided_by
}

/** node test/faults/decide_ab_tests.ts [--tests 50] [--recipients 2000] */
if (import.meta.main) {
  const options = readOptions({ tests: 50, recipients: 2_000 })
  await runCampaign('kill -9 of workers around the decision of A/B tests', stage => decideAbTests(stage, options))
}
