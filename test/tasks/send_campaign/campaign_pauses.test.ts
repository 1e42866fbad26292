import t from 'tap'
import { continueCampaign } from '#flows/campaigns/stop_campaign.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { addContacts, figuresOf, queueCampaign, readCampaign, sendUntil } from '#test/support/campaigns.ts'
import { givePlan } from '#test/support/database/states.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { subscribe, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
/** Emails in progress at a time: a campaign of more than twice as many is judged before it is complete. */
const AHEAD = 500

const at = (mailbox: string, n: number) => `${mailbox}+${n}@${world.config.SIMULATOR_DOMAIN}`

function addMany(account: TestAccount, counts: Record<string, number>): Promise<string[]> {
  const addresses = Object.entries(counts).flatMap(([mailbox, count]) =>
    Array.from({ length: count }, (_, n) => ({ email: at(mailbox, n) })),
  )
  return addContacts(world, account, addresses)
}

t.test('too many bounces pause a campaign until it is resumed', async t => {
  const account = await newAccount(world)
  await addMany(account, { bounced: 60, delivered: 1_440 })
  const campaign = await queueCampaign(world, account)
  const work = { ...openWork(t, world, 'capture'), ahead: AHEAD }
  await subscribe(world, account.id, ['campaign.paused'])
  await sendUntil(work, campaign, 'paused')
  shows(t, await readCampaign(world, campaign), {
    pause_reason: /^\d+ of the last \d+ recipients bounced\.$/,
    paused_at: Date,
  })
  const told = { id: campaign.campaign_id, status: 'paused' }
  shows(t, await takeEvents(world, account.id), [{ type: 'campaign.paused', data: told }])
  await continueCampaign(pool, { account_id: account.id, id: campaign.campaign_id })
  await sendUntil(work, campaign)
})

t.test('complaints pause a campaign above 0.3 %, few bounces do not', async t => {
  const account = await newAccount(world)
  await addMany(account, { complained: 100, bounced: 20, delivered: 1_380 })
  const campaign = await queueCampaign(world, account)
  await sendUntil({ ...openWork(t, world, 'capture'), ahead: AHEAD }, campaign, 'paused')
  shows(t, await readCampaign(world, campaign), { pause_reason: /^\d+ of \d+ recipients complained\.$/ })
})

t.test('attempts that reach no mail server pause a campaign, unless others succeed', async t => {
  const account = await newAccount(world)
  const unreachable = Array.from({ length: 60 }, (_, n) => `ann@b${n}.com`)
  await addContacts(world, account, unreachable)
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'smtp://127.0.0.1:1')
  await sendUntil(work, campaign, 'paused')
  shows(t, await readCampaign(world, campaign), { pause_reason: /^The last \d+ emails reached no mail server\.$/ })

  const other = await newAccount(world)
  await addContacts(world, other, [...unreachable, at('delivered', 0)])
  const another = await queueCampaign(world, other)
  await waitUntil(async () => {
    await send_campaign(another, work)
    await work.sender.idle()
    const { unreached = 0, delivered } = await figuresOf(world, another)
    return unreached >= 60 && delivered === 1
  }, 'all of it is tried')
  await send_campaign(another, work)
  shows(t, await readCampaign(world, another), { status: 'queued', pause_reason: null })

  const tried = async () => {
    const query = 'SELECT min(attempt) AS attempts FROM deliveries WHERE campaign_id = $1 AND state = $2'
    return (await pool.pg.query(query, [another.campaign_id, 'queued'])).rows[0].attempts
  }
  await pool.pg.query(`UPDATE deliveries SET next_at = now() WHERE campaign_id = $1 AND state = 'queued'`, [
    another.campaign_id,
  ])
  await waitUntil(async () => {
    await send_campaign(another, work)
    await work.sender.idle()
    return (await tried()) === 2
  }, 'the unreachable servers are tried again')
  await send_campaign(another, work)
  shows(t, await readCampaign(world, another), { status: 'queued', pause_reason: null })
})

t.test('a campaign sends what the quota allows and continues later by itself', async t => {
  const account = await newAccount(world)
  await givePlan(world, account, { emails_per_day: 3 })
  await addMany(account, { delivered: 5 })
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  await send_campaign(campaign, work)
  shows(t, await readCampaign(world, campaign), {
    status: 'queued',
    pause_reason: 'The quota of 24 hours is used up.',
  })
  const { rows } = await pool.pg.query('SELECT count(*)::int AS n FROM deliveries WHERE account_id = $1', [account.id])
  t.strictSame(rows, [{ n: 3 }])
  const job = `SELECT run_at > now() AS waits FROM graphile_worker.jobs WHERE key = 'send_campaign ' || $1`
  t.strictSame((await pool.pg.query(job, [campaign.campaign_id])).rows, [{ waits: true }])

  await givePlan(world, account, { emails_per_day: 10 })
  await sendUntil(work, campaign)
  shows(t, await readCampaign(world, campaign), { status: 'sent', pause_reason: null })
  t.strictSame(await figuresOf(world, campaign), { recipients: 5, sent: 5, delivered: 5 })
})

t.test('a pause by the operator shows as pause_reason until it ends', async t => {
  const account = await newAccount(world)
  await addMany(account, { delivered: 3 })
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  await send_campaign(campaign, work)
  const pauses = [
    ['platform', 'true', 'Sending is paused on this server.'],
    ['accounts', 'id = $1', 'Sending is paused for this account.'],
    ['domains', 'account_id = $1', 'Sending is paused for the domain.'],
  ] as const
  const ids = (where: string) => (where.includes('$1') ? [account.id] : [])
  for (const [table, where, pause_reason] of pauses) {
    await pool.pg.query(`UPDATE ${table} SET paused_at = now() WHERE ${where}`, ids(where))
    await send_campaign(campaign, work)
    shows(t, await readCampaign(world, campaign), { status: 'queued', pause_reason })
    await pool.pg.query(`UPDATE ${table} SET paused_at = NULL WHERE ${where}`, ids(where))
    await send_campaign(campaign, work)
    shows(t, await readCampaign(world, campaign), { status: 'queued', pause_reason: null })
  }
  await sendUntil(work, campaign)
})

t.test('a domain in warm-up sends its daily limit to the most engaged contacts first', async t => {
  const account = await newAccount(world)
  await pool.pg.query('UPDATE platform SET warm_up_per_day = 2')
  t.teardown(() => pool.pg.query('UPDATE platform SET warm_up_per_day = 0'))
  await pool.pg.query('UPDATE domains SET verified_at = now() WHERE id = $1', [account.domain_id])
  const [, second, , fourth, fifth] = await addMany(account, { delivered: 5 })
  await pool.pg.query(
    `INSERT INTO contact_engagement (account_id, contact_id, last_opened_at, last_clicked_at)
     SELECT $1, e.* FROM (VALUES ($2::uuid, now() - interval '300 days', NULL::timestamptz),
       ($3, now() - interval '90 days', now() - interval '2 days'), ($4, now() - interval '3 days', NULL)) AS e`,
    [account.id, second, fourth, fifth],
  )
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  await send_campaign(campaign, work)
  shows(t, await readCampaign(world, campaign), {
    status: 'queued',
    pause_reason: 'The domain is new: the rest follows as its daily limit rises.',
  })
  const { rows } = await pool.pg.query('SELECT recipient FROM deliveries WHERE campaign_id = $1 ORDER BY recipient', [
    campaign.campaign_id,
  ])
  t.strictSame(
    rows.map(({ recipient }) => recipient),
    [at('delivered', 3), at('delivered', 4)],
  )
  await pool.pg.query(`UPDATE domains SET verified_at = now() - interval '25 hours' WHERE id = $1`, [account.domain_id])
  await sendUntil(work, campaign)
})

t.test('a campaign fails and is canceled when its domain is deleted', async t => {
  const account = await newAccount(world)
  await addMany(account, { delivered: 4 })
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  await send_campaign(campaign, { ...work, slice: 2, ahead: 2 } as typeof work)
  await pool.pg.query('DELETE FROM domains WHERE id = $1', [account.domain_id])
  await send_campaign(campaign, work)
  shows(t, await readCampaign(world, campaign), { status: 'failed', error: 'The domain of the campaign was deleted.' })
  t.strictSame(await figuresOf(world, campaign), { recipients: 4, canceled: 4 })
})

t.test('complaints about earlier campaigns of the domain pause a campaign once', async t => {
  const account = await newAccount(world)
  await addMany(account, { delivered: 3 })
  const earlier = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  await sendUntil(work, earlier)
  const complained = (count: number) =>
    pool.pg.query(
      `SELECT count_campaigns(ARRAY[ROW($1, $2, 1, 0, 'sent', 997), ROW($1, $2, 1, 0, 'complained', $3)]::campaign_move[])`,
      [account.id, earlier.campaign_id, count],
    )
  await complained(3)
  await sendUntil(work, await queueCampaign(world, account))

  await complained(4)
  const campaign = await queueCampaign(world, account)
  await sendUntil(work, campaign, 'paused')
  shows(t, await readCampaign(world, campaign), {
    pause_reason: "7 of the 2000 recipients of the domain's campaigns of the last 7 days complained.",
  })
  await continueCampaign(pool, { account_id: account.id, id: campaign.campaign_id })
  await sendUntil(work, campaign)

  await pool.pg.query(`UPDATE campaign_runs SET created_at = now() - interval '8 days' WHERE campaign_id = $1`, [
    earlier.campaign_id,
  ])
  await sendUntil(work, await queueCampaign(world, account))
})
