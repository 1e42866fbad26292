import t, { type Test } from 'tap'
import { continueCampaign, stopCampaign, suspendCampaign } from '#flows/campaigns/stop_campaign.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { start_campaigns } from '#tasks/start_campaigns.ts'
import { startApi } from '#test/support/api.ts'
import {
  addContacts,
  createDraft,
  type QueuedCampaign,
  readCampaign,
  sendUntil,
  sendUntilTrue,
} from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { momentOf, wallOf } from '#test/support/wall_clock.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const query = async (text: string, values: unknown[]) => (await world.pool.pg.query(text, values)).rows

const ZONES = [...Intl.supportedValuesOf('timeZone'), 'Europe/Kyiv', 'europe/berlin']

/** A campaign in local time to a contact in each timezone, and to two without one. */
async function open(t: Test, fields: object = {}, zones = ZONES) {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const addresses = [...zones.map((_, n) => `p${n}@d${n % 50}.com`), 'none@b.com', 'junk@b.com']
  const contacts = await addContacts(world, account, addresses)
  await query(
    'UPDATE contacts c SET timezone = z.name FROM unnest($1::uuid[], $2::text[]) AS z(id, name) WHERE c.id = z.id',
    [contacts, [...zones, null, 'Mars/Base']],
  )
  const id = await createDraft(api, account, { send_in_local_time: true, timezone: 'America/New_York', ...fields })
  const send = (scheduled_at?: string) => api.request('POST', `/api/campaigns/${id}/send`, { body: { scheduled_at } })
  const campaign: QueuedCampaign = { account_id: account.id, campaign_id: id }
  const work = openWork(t, world, 'capture')
  return { api, id, send, campaign, work, command: { account_id: account.id, id } }
}

/** Makes the campaign begin in the first timezone now; returns this time. */
async function begin({ campaign_id }: QueuedCampaign, work: ReturnType<typeof openWork>): Promise<Date> {
  await query(
    `UPDATE campaigns SET begins_at = begins_at - passed, scheduled_at = scheduled_at - passed, first_run_at = first_run_at - passed
     FROM (SELECT begins_at - date_trunc('milliseconds', now()) + interval '1 second' AS passed FROM campaigns WHERE id = $1) p
     WHERE id = $1`,
    [campaign_id],
  )
  await start_campaigns({}, work)
  const [{ scheduled_at }] = await query('SELECT scheduled_at FROM campaign_runs WHERE campaign_id = $1', [campaign_id])
  return scheduled_at
}

t.test('contacts with an abbreviation in place of a timezone get it in the timezone of the campaign', async t => {
  const { send, campaign, work } = await open(t, {}, ['IST', 'PST'])
  t.equal((await send('in 3 days')).status, 200)
  const at = await begin(campaign, work)
  await send_campaign(campaign, work)
  const rows = await query('SELECT due_at FROM campaign_recipients WHERE campaign_id = $1', [campaign.campaign_id])
  t.strictSame(rows, Array(4).fill({ due_at: at }))
})

const pass = ({ campaign_id }: QueuedCampaign, hours: number) =>
  query(`UPDATE campaign_recipients SET due_at = due_at - $2 * interval '1 hour' WHERE campaign_id = $1`, [
    campaign_id,
    hours,
  ])
const countMails = async ({ campaign_id }: QueuedCampaign): Promise<number> =>
  (await query('SELECT count(*)::int AS count FROM emails WHERE campaign_id = $1', [campaign_id]))[0].count

t.test('each recipient is due at the time of day in their timezone', async t => {
  const { send, campaign, work } = await open(t)
  const { status, text } = await send('in 3 days')
  t.equal(status, 200, text)
  const at = (await begin(campaign, work)).getTime()
  await send_campaign(campaign, work)
  const rows = await query(
    `SELECT coalesce(c.timezone, 'none') AS zone, r.due_at FROM campaign_recipients r JOIN contacts c ON c.id = r.contact_id
     WHERE r.campaign_id = $1`,
    [campaign.campaign_id],
  )
  t.equal(rows.length, ZONES.length + 2)
  const wall = wallOf(at, 'America/New_York')
  for (const { zone, due_at } of rows) {
    const known = ['none', 'Mars/Base'].includes(zone) ? 'America/New_York' : zone
    t.equal(due_at.getTime(), momentOf(wall, known), zone)
  }
})

t.test('a campaign in local time ends after the last timezone, and can be paused and resumed before', async t => {
  const zones = ['Pacific/Kiritimati', 'Asia/Tokyo', 'UTC', 'Pacific/Midway']
  const { send, campaign, work, command } = await open(t, { timezone: 'UTC' }, zones)
  await send('in 2 days')
  await begin(campaign, work)
  const sends = (count: number) =>
    sendUntilTrue(work, campaign, async () => (await countMails(campaign)) === count, `${count} emails are sent`)
  await sends(1)
  const isLater = async () => {
    const [job] = await query(
      `SELECT run_at > now() + interval '9 minutes' AS is_later FROM graphile_worker._private_jobs WHERE key = 'send_campaign ' || $1`,
      [campaign.campaign_id],
    )
    return job?.is_later
  }
  await sendUntilTrue(work, campaign, isLater, 'its job is for later: nothing is due for hours')
  await pass(campaign, 5)
  await sends(2)
  await suspendCampaign(world.pool, command)
  await pass(campaign, 10)
  await send_campaign(campaign, work)
  t.equal(await countMails(campaign), 2)
  await continueCampaign(world.pool, command)
  await sends(5) // UTC, and the two without a timezone
  shows(t, await readCampaign(world, campaign), { status: 'queued', sent_at: null })
  await pass(campaign, 12)
  await sendUntil(work, campaign)
  t.equal(await countMails(campaign), 6)
})

t.test('canceling stops the campaign for the remaining time zones', async t => {
  const { send, campaign, work, command } = await open(t, { timezone: 'UTC' }, ['Pacific/Kiritimati', 'Asia/Tokyo'])
  await send('in 2 days')
  await begin(campaign, work)
  await send_campaign(campaign, work)
  await stopCampaign(world.pool, command)
  await pass(campaign, 48)
  await send_campaign(campaign, work)
  t.equal(await countMails(campaign), 1)
})

t.test('recipients waiting for an A/B winner get it at their local time, or at once if it has passed', async t => {
  const variants = [{ subject: 'Red' }, { subject: 'Blue' }]
  const zones = Array.from({ length: 30 }, (_, n) => (n % 2 ? 'Pacific/Kiritimati' : 'UTC'))
  const { send, campaign, work } = await open(t, { ab_test: { test_percentage: 30, variants }, timezone: 'UTC' }, zones)
  await send('in 2 days')
  await begin(campaign, work)
  await send_campaign(campaign, work)
  await query(`UPDATE campaign_runs SET decided_variant = 2 WHERE campaign_id = $1`, [campaign.campaign_id])
  await send_campaign(campaign, work)
  const due = await query(
    `SELECT c.timezone, r.due_at <= now() AS is_due, r.state, count(*)::int > 0 AS some FROM campaign_recipients r
     JOIN contacts c ON c.id = r.contact_id WHERE r.campaign_id = $1 AND c.timezone IS NOT NULL AND c.timezone <> 'Mars/Base'
     GROUP BY 1, 2, 3 ORDER BY 1`,
    [campaign.campaign_id],
  )
  shows(t, due, [
    { timezone: 'Pacific/Kiritimati', is_due: true, state: 'm', some: true },
    { timezone: 'UTC', is_due: false, state: 'p', some: true },
  ])
  await pass(campaign, 15)
  await sendUntil(work, campaign)
  t.equal(await countMails(campaign), 32)
})

t.test('a local time that has passed in some timezone is refused', async t => {
  const { send } = await open(t, { timezone: 'UTC' }, [])
  const soon = await send('in 13 hours')
  t.equal(soon.status, 422)
  t.match(
    soon.body.message,
    /^`scheduled_at` must be later than \d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z: with `send_in_local_time`/,
  )
  const [, earliest = ''] = /than (\S+):/.exec(soon.body.message) ?? []
  const ahead = (new Date(earliest).getTime() - Date.now()) / 3_600_000
  t.ok(ahead > 13.9 && ahead < 14.1, String(ahead))
  const never = await send()
  t.strictSame(
    [never.status, never.body.message],
    [422, '`scheduled_at` must be given for a campaign with `send_in_local_time`.'],
  )
  shows(t, await send('in 15 hours'), { status: 200 })
})

t.test('a daily campaign in local time must skip days', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const draft = { from: `a@${account.domain}`, subject: 'x', send_in_local_time: true, recurrence: 'daily' }
  shows(t, await api.request('POST', '/api/campaigns', { body: draft }), { status: 422 })
  const { status, body } = await api.request('POST', '/api/campaigns', { body: { ...draft, recurrence_every: 2 } })
  t.equal(status, 201)
  shows(t, await api.request('PATCH', `/api/campaigns/${body.id}`, { body: { recurrence_every: 1 } }), { status: 422 })
})
