import t, { type Test } from 'tap'
import { chooseByHand } from '#flows/campaigns/ab/decide_winner.ts'
import { continueCampaign, stopCampaign, suspendCampaign } from '#flows/campaigns/stop_campaign.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import type { Work } from '#tasks/task.ts'
import { startApi } from '#test/support/api.ts'
import {
  addContacts,
  createDraft,
  figuresOf,
  type QueuedCampaign,
  readCampaign,
  sendUntil,
  sendUntilTrue,
} from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const { pool } = world
const VARIANTS = [{ subject: 'Red' }, { subject: 'Blue', html: '<p>Blue for {{first_name|you}}</p>' }]

/** A campaign to this many contacts whose A/B test has been sent. */
async function openTest(t: Test, contacts: number, fields: object = {}): Promise<Opened> {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  await addContacts(
    world,
    account,
    Array.from({ length: contacts }, (_, n) => `p${n}@d${n % 3}.com`),
  )
  const id = await createDraft(api, account, { ab_test: { test_percentage: 50, variants: VARIANTS, ...fields } })
  const { status, text } = await api.request('POST', `/api/campaigns/${id}/send`, {})
  t.equal(status, 200, text)
  const campaign = { account_id: account.id, campaign_id: id }
  const work = openWork(t, world, 'capture')
  await waits(work, campaign)
  const ask = async (method: string, path: string, body?: object) =>
    api.request(method, `/api/campaigns/${id}${path}`, body === undefined ? {} : { body })
  return { account, campaign, work, ask }
}
type Opened = {
  account: TestAccount
  campaign: QueuedCampaign
  work: Work
  ask: (method: string, path: string, body?: object) => Promise<{ status: number; body: object }>
}

/** Sends the test of a campaign until it waits for a winner. */
async function waits(work: Work, campaign: QueuedCampaign): Promise<void> {
  const isSent = async () => {
    const query = 'SELECT decide_at FROM campaign_runs WHERE campaign_id = $1'
    return (await pool.pg.query(query, [campaign.campaign_id])).rows[0].decide_at !== null
  }
  await sendUntilTrue(work, campaign, isSent, 'the test is sent')
}

async function subjectsOf({ campaign_id }: QueuedCampaign): Promise<Record<string, number>> {
  const { rows } = await pool.pg.query(
    'SELECT subject, count(*)::int AS count FROM emails WHERE campaign_id = $1 GROUP BY subject',
    [campaign_id],
  )
  return Object.fromEntries(rows.map(({ subject, count }) => [subject, count]))
}

async function opens({ account_id, campaign_id }: QueuedCampaign, variant: number, count: number): Promise<void> {
  await pool.pg.query(`SELECT count_campaigns(ARRAY[ROW($1, $2, 1, $3, 'unique_opened', $4)::campaign_move])`, [
    ...[account_id, campaign_id, variant, count],
  ])
}

const isDue = ({ campaign_id }: QueuedCampaign) =>
  pool.pg.query('UPDATE campaign_runs SET decide_at = now() WHERE campaign_id = $1', [campaign_id])

t.test('the winning variant goes to the remaining recipients', async t => {
  const { campaign, work, ask } = await openTest(t, 200)
  const tested = await subjectsOf(campaign)
  const { Red = 0, Blue = 0 } = tested
  t.ok(Red > 20 && Blue > 20 && Red + Blue < 150, `Red ${Red}, Blue ${Blue}`)
  shows(t, await readCampaign(world, campaign), { status: 'testing' })
  await opens(campaign, 1, 2)
  await opens(campaign, 2, 9)
  shows(t, (await ask('GET', '/ab')).body, {
    ...{ object: 'campaign_ab', status: 'testing', winner: null, decided_by: null, decide_at: String },
    variants: [
      { key: 'A', subject: 'Red', sent: Red, delivered: Red, unique_opened: 2 },
      { key: 'B', subject: 'Blue', sent: Blue, delivered: Blue, unique_opened: 9 },
    ],
  })
  await isDue(campaign)
  await sendUntil(work, campaign)
  t.strictSame(await subjectsOf(campaign), { Red, Blue: 200 - Red })
  shows(t, (await ask('GET', '/ab')).body, { status: 'decided', winner: 'B', decided_by: 'automatic' })
  shows(t, await figuresOf(world, campaign), { recipients: 200, sent: 200, delivered: 200 })
  const { rows } = await pool.pg.query(
    `SELECT count(*)::int AS recipients FROM campaign_recipients r JOIN emails e ON e.id = r.email_id
     WHERE r.campaign_id = $1 AND e.subject = CASE r.variant WHEN 1 THEN 'Red' ELSE 'Blue' END`,
    [campaign.campaign_id],
  )
  t.strictSame(rows, [{ recipients: 200 }])
})

t.test('a winner chosen by hand and by time at once counts once', async t => {
  const { account, campaign, work, ask } = await openTest(t, 60)
  await opens(campaign, 2, 5)
  await isDue(campaign)
  const id = { account_id: account.id, id: campaign.campaign_id }
  await Promise.all([send_campaign(campaign, work), chooseByHand(pool, id, 'A').catch(error => error)])
  await sendUntil(work, campaign)
  const { rows } = await pool.pg.query('SELECT decided_variant FROM campaign_runs WHERE campaign_id = $1', [
    campaign.campaign_id,
  ])
  const late = await pool.pg.query(
    'SELECT DISTINCT variant FROM campaign_recipients WHERE campaign_id = $1 AND due_at = $2',
    [campaign.campaign_id, 'infinity'],
  )
  t.strictSame(late.rows, [{ variant: rows[0].decided_variant }])
  shows(t, await ask('POST', '/ab/winner', { variant: 'B' }), { status: 422 })
})

t.test('a paused test resumes as a test, and a canceled one has no winner', async t => {
  const { account, campaign, work, ask } = await openTest(t, 60)
  const id = { account_id: account.id, id: campaign.campaign_id }
  await suspendCampaign(pool, id)
  t.equal(await continueCampaign(pool, id), 'testing')
  await isDue(campaign)
  await stopCampaign(pool, id)
  await send_campaign(campaign, work)
  const { recipients = 0, delivered = 0, canceled } = await figuresOf(world, campaign)
  t.strictSame([recipients, canceled], [60, 60 - delivered])
  shows(t, (await ask('GET', '/ab')).body, { status: 'canceled', decide_at: null, winner: null })
})

t.test('a test of all recipients ends without a winner', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  await addContacts(
    world,
    account,
    Array.from({ length: 30 }, (_, n) => `p${n}@b.com`),
  )
  const id = await createDraft(api, account, { ab_test: { test_percentage: 100, variants: VARIANTS } })
  await api.request('POST', `/api/campaigns/${id}/send`, {})
  const campaign = { account_id: account.id, campaign_id: id }
  const chosen = await api.request('POST', `/api/campaigns/${id}/ab/winner`, { body: { variant: 'B' } })
  shows(t, chosen, {
    status: 422,
    body: { message: 'The A/B test has no winner: it is sent to all recipients.' },
  })
  await sendUntil(openWork(t, world, 'capture'), campaign)
  shows(t, (await api.request('GET', `/api/campaigns/${id}/ab`)).body, {
    status: 'ended',
    winner: null,
    decide_at: null,
  })
  const { Red = 0, Blue = 0 } = await subjectsOf(campaign)
  t.equal(Red + Blue, 30)
  t.ok(Red > 0 && Blue > 0)
})
