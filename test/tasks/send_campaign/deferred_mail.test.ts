import t, { type Test } from 'tap'
import { newId } from '#lib/ids.ts'
import { type ClaimedDelivery, claimDeliveries, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { start_campaigns } from '#tasks/start_campaigns.ts'
import type { Work } from '#tasks/task.ts'
import { type Api, startApi } from '#test/support/api.ts'
import { makeNextRunDue } from '#test/support/campaign_runs.ts'
import { addContacts, createDraft, type QueuedCampaign, queueCampaign, readCampaign } from '#test/support/campaigns.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const { pg } = world.pool
/** Its sender is never started, so that stored emails stay as these tests make them. */
const work = openWork(t, world, 'capture')

const step = (campaign: QueuedCampaign, limits: { ahead?: number; slice?: number } = {}) =>
  send_campaign(campaign, { ...work, ...limits } as Work)

const addMany = (account: TestAccount, count: number) =>
  addContacts(
    world,
    account,
    Array.from({ length: count }, (_, n) => `p${n}@b.com`),
  )

/** As if servers had refused all queued emails of the campaign for two hours. */
async function deferAll({ campaign_id }: QueuedCampaign): Promise<void> {
  await pg.query(
    `UPDATE deliveries SET attempt = 1, next_at = now() + interval '2 hours' WHERE campaign_id = $1 AND state = 'queued'`,
    [campaign_id],
  )
}

async function statesOf({ campaign_id }: QueuedCampaign): Promise<Record<string, number>> {
  const { rows } = await pg.query(
    'SELECT state, count(*)::int AS count FROM deliveries WHERE campaign_id = $1 GROUP BY 1',
    [campaign_id],
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

t.test('emails that servers refuse for the moment do not hold back the rest of a campaign', async t => {
  const account = await newAccount(world)
  await addMany(account, 14)
  const campaign = await queueCampaign(world, account)
  const limits = { ahead: 1, slice: 1 }
  await step(campaign, limits)
  await step(campaign, limits)
  t.strictSame(await statesOf(campaign), { queued: 1 }, 'one that is due holds back the others')
  for (let stored = 1; stored < 10; stored++) {
    await deferAll(campaign)
    await step(campaign, limits)
  }
  t.strictSame(await statesOf(campaign), { queued: 10 })
  await deferAll(campaign)
  await step(campaign, limits)
  t.strictSame(await statesOf(campaign), { queued: 10 }, 'ten times as many are the limit')
  shows(t, await readCampaign(world, campaign), {
    status: 'queued',
    pause_reason: 'Too many emails wait for servers that refuse them at the moment.',
  })
  await step(campaign)
  t.strictSame(await statesOf(campaign), { queued: 14 })
})

/** A daily campaign whose first run has ended, within an hour of the next, although its two emails are deferred. */
async function endWithDeferred(t: Test) {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  await addMany(account, 2)
  const id = await createDraft(api, account, { recurrence: 'daily', timezone: 'UTC' })
  const campaign = { account_id: account.id, campaign_id: id }
  const { status } = await api.request('POST', `/api/campaigns/${id}/send`, { body: { scheduled_at: 'in 2 hours' } })
  t.equal(status, 200)
  await makeNextRunDue(world, campaign)
  await start_campaigns({}, work)
  await step(campaign)
  await deferAll(campaign)
  await step(campaign)
  shows(t, await readCampaign(world, campaign), { status: 'queued' })

  for (const [table, column] of [
    ['campaign_runs', 'campaign_id'],
    ['campaigns', 'id'],
  ]) {
    await pg.query(`UPDATE ${table} SET scheduled_at = scheduled_at - interval '23.5 hours' WHERE ${column} = $1`, [id])
  }
  await pg.query(`UPDATE campaigns SET first_run_at = first_run_at - interval '23.5 hours' WHERE id = $1`, [id])
  await step(campaign)
  const { scheduled_at, ...ended } = await readCampaign(world, campaign)
  shows(t, ended, { status: 'scheduled' })
  t.ok(scheduled_at.getTime() > Date.now() && scheduled_at.getTime() < Date.now() + 3_600_000, String(scheduled_at))
  const { rows } = await pg.query('SELECT run, outcome, skipped FROM campaign_runs WHERE campaign_id = $1', [id])
  t.strictSame(rows, [{ run: 1, outcome: 'sent', skipped: 0 }])
  t.strictSame(await statesOf(campaign), { queued: 2 })
  return { api, campaign, id }
}

t.test('a run ends before the next one is due although some emails are deferred, and DELETE cancels these', async t => {
  const { api, campaign, id } = await endWithDeferred(t)
  t.equal((await api.request('DELETE', `/api/campaigns/${id}`)).status, 200)
  t.strictSame(await statesOf(campaign), { canceled: 2 })
})

t.test('deferred emails are canceled if the next run cannot begin', async t => {
  const { api, campaign, id } = await endWithDeferred(t)
  await pg.query('UPDATE campaigns SET html = NULL WHERE id = $1', [id])
  await makeNextRunDue(world, campaign)
  await start_campaigns({}, work)
  t.strictSame(await statesOf(campaign), { canceled: 2 })
  shows(t, (await api.request('GET', `/api/campaigns/${id}/stats`)).body, { status: 'failed', canceled: 2, pending: 0 })
})

for (const [what, end] of [
  ['deleted', (api: Api, id: string) => api.request('DELETE', `/api/campaigns/${id}`)],
  ['failed', () => start_campaigns({}, work)],
] as const) {
  t.test(`an email that is deferred while its campaign is ${what} is canceled`, async t => {
    const { api, campaign, id } = await endWithDeferred(t)
    await pg.query('UPDATE campaigns SET html = NULL WHERE id = $1', [id])
    if (what === 'failed') await makeNextRunDue(world, campaign)
    await pg.query('UPDATE deliveries SET next_at = now() WHERE campaign_id = $1', [id])
    const { rows } = await pg.query('SELECT id FROM emails WHERE campaign_id = $1 LIMIT 1', [id])
    const claim = { lease_owner: newId(), lease_seconds: 60, limit: 1, email_ids: [rows[0].id] }
    const [claimed] = (await claimDeliveries(world.pool, claim)) as [ClaimedDelivery]
    const deferred = { ...claimed, outcome: 'deferred' as const, delay: 60 }
    const settling = await begin(world, tx => settleDeliveries(tx, [deferred]))
    const ending = end(api, id)
    await Promise.race([untilBlocked(world), ending])
    await settling.commit()
    await ending
    t.strictSame(await statesOf(campaign), { canceled: 2 })
  })
}

t.test('the time until a winner is chosen begins once half of the emails of the test are finished', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  await addMany(account, 40)
  const variants = [{ subject: 'Red' }, { subject: 'Blue' }]
  const id = await createDraft(api, account, { ab_test: { test_percentage: 50, wait_hours: 1, variants } })
  t.equal((await api.request('POST', `/api/campaigns/${id}/send`, {})).status, 200)
  const campaign = { account_id: account.id, campaign_id: id }
  const isWaiting = async () => {
    const { rows } = await pg.query('SELECT decide_at FROM campaign_runs WHERE campaign_id = $1', [id])
    return rows[0].decide_at !== null
  }
  await step(campaign)
  await deferAll(campaign)
  await step(campaign)
  t.notOk(await isWaiting())
  // Recipients are drawn at random, so the number of emails varies.
  await pg.query(
    `UPDATE deliveries SET state = 'delivered', next_at = NULL WHERE id IN (
       SELECT id FROM deliveries WHERE campaign_id = $1
       LIMIT (SELECT (count(*) + 1) / 2 FROM deliveries WHERE campaign_id = $1))`,
    [id],
  )
  await step(campaign)
  t.ok(await isWaiting())
})
