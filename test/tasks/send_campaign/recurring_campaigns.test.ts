import t, { type Test } from 'tap'
import { send_campaign } from '#tasks/send_campaign.ts'
import { start_campaigns } from '#tasks/start_campaigns.ts'
import { startApi } from '#test/support/api.ts'
import { makeNextRunDue } from '#test/support/campaign_runs.ts'
import { addContacts, createDraft, type QueuedCampaign, readCampaign, sendUntil } from '#test/support/campaigns.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const query = async (text: string, values: unknown[]) => (await world.pool.pg.query(text, values)).rows

const WEEK_MS = 7 * 24 * 3_600_000

/** A daily campaign to two contacts, without a run yet. */
async function open(t: Test, fields: object = {}) {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const contacts = await addContacts(world, account, ['ann@b.com', 'bob@c.com'])
  const id = await createDraft(api, account, { recurrence: 'daily', timezone: 'Europe/Berlin', ...fields })
  const ask = async (method: string, path = '', body?: object) =>
    api.request(method, `/api/campaigns/${id}${path}`, body === undefined ? {} : { body })
  const { status, text } = await ask('POST', '/send', { scheduled_at: 'in 2 hours' })
  t.equal(status, 200, text)
  const campaign: QueuedCampaign = { account_id: account.id, campaign_id: id }
  const work = openWork(t, world, 'capture')
  return { account, api, contacts, id, campaign, work, ask, run: () => runNext(campaign, work) }
}

async function runNext(campaign: QueuedCampaign, work: ReturnType<typeof openWork>, late?: string): Promise<void> {
  await makeNextRunDue(world, campaign, late)
  await start_campaigns({}, work)
  await sendUntil(work, campaign, 'scheduled')
}

const runsOf = (campaign: QueuedCampaign) =>
  query('SELECT run, outcome, skipped FROM campaign_runs WHERE campaign_id = $1 ORDER BY run', [campaign.campaign_id])
const mailsOf = async ({ campaign_id }: QueuedCampaign) =>
  query(
    `SELECT campaign_run AS run, count(*)::int AS emails, count(DISTINCT contact_id)::int AS contacts FROM emails
     WHERE campaign_id = $1 GROUP BY 1 ORDER BY 1`,
    [campaign_id],
  )

t.test('a recurring campaign is sent again at the same time of day', async t => {
  const { campaign, run, account, work } = await open(t)
  await run()
  const [{ is_next }] = await query(
    `SELECT scheduled_at AT TIME ZONE 'Europe/Berlin'
       = first_run_at AT TIME ZONE 'Europe/Berlin' + interval '1 day' AS is_next
     FROM campaigns WHERE id = $1`,
    [campaign.campaign_id],
  )
  t.ok(is_next)
  const jobs = await query(
    `SELECT j.run_at = g.scheduled_at AS is_at FROM graphile_worker._private_jobs j, campaigns g
     WHERE g.id = $1 AND j.key = 'start_campaigns ' || g.id`,
    [campaign.campaign_id],
  )
  shows(t, jobs, [{ is_at: true }])
  await addContacts(world, account, ['joiner@d.com'])
  await runNext(campaign, work)
  shows(t, await mailsOf(campaign), [
    { run: 1, emails: 2, contacts: 2 },
    { run: 2, emails: 3, contacts: 3 },
  ])
  shows(t, await runsOf(campaign), [
    { run: 1, outcome: 'sent', skipped: 0 },
    { run: 2, outcome: 'sent', skipped: 0 },
  ])
})

/** The last day in the past, in steps of a week, with another UTC offset in Berlin than now. */
function dayOfOtherClocks(): Date {
  const offsetAt = (time: number) =>
    new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin', timeZoneName: 'longOffset' })
      .formatToParts(time)
      .find(({ type }) => type === 'timeZoneName')?.value
  const inTwoWeeks = Date.now() + 2 * WEEK_MS // the next run is within a week, and the offset may change in it
  let time = Date.now() - WEEK_MS
  while (offsetAt(time) === offsetAt(Date.now()) || offsetAt(time) === offsetAt(inTwoWeeks)) time -= WEEK_MS
  return new Date(time)
}

t.test('a weekly campaign keeps its time of day across DST changes', async t => {
  const { campaign, work } = await open(t, { recurrence: 'weekly' })
  const first = dayOfOtherClocks()
  await query('UPDATE campaigns SET first_run_at = $2, scheduled_at = $2 WHERE id = $1', [campaign.campaign_id, first])
  await start_campaigns({}, work)
  await sendUntil(work, campaign, 'scheduled')
  const { scheduled_at: next } = await readCampaign(world, campaign)
  const inBerlin = new Intl.DateTimeFormat('en', {
    ...{ timeZone: 'Europe/Berlin', weekday: 'short', hour: '2-digit', minute: '2-digit' },
  })
  t.equal(inBerlin.format(next), inBerlin.format(first))
  const elapsed = next.getTime() - first.getTime()
  t.equal(Math.abs(elapsed - Math.round(elapsed / WEEK_MS) * WEEK_MS), 3_600_000, 'an hour more or less than weeks')
  t.ok(next > new Date() && next.getTime() - Date.now() <= WEEK_MS)
})

t.test('8 workers that start and send the same run create one run', async t => {
  const { campaign, run, work } = await open(t)
  await run()
  await makeNextRunDue(world, campaign)
  await Promise.all(Array.from({ length: 8 }, () => start_campaigns({}, work)))
  await Promise.all(Array.from({ length: 8 }, () => send_campaign(campaign, work)))
  await sendUntil(work, campaign, 'scheduled')
  await Promise.all(
    Array.from({ length: 8 }, () => start_campaigns({}, work).then(() => send_campaign(campaign, work))),
  )
  shows(t, await mailsOf(campaign), [
    { run: 1, emails: 2, contacts: 2 },
    { run: 2, emails: 2, contacts: 2 },
  ])
})

t.test('runs missed for three weeks become one run that counts the skipped ones', async t => {
  const { campaign, work, ask } = await open(t)
  await runNext(campaign, work, '21 days')
  shows(t, await mailsOf(campaign), [{ run: 1, emails: 2, contacts: 2 }])
  shows(t, await readCampaign(world, campaign), { status: 'scheduled' })
  t.ok((await readCampaign(world, campaign)).scheduled_at > new Date())
  shows(t, (await ask('GET', '/runs')).body, {
    data: [{ object: 'campaign_run', id: '1', run: 1, status: 'sent', recipients_count: 2, skipped: 21 }],
  })
})

t.test('a run still in progress when the next is due skips it', async t => {
  const { campaign, work, ask } = await open(t)
  await makeNextRunDue(world, campaign)
  await start_campaigns({}, work)
  t.equal((await ask('POST', '/pause')).status, 200)
  await query(
    `UPDATE campaigns SET first_run_at = first_run_at - interval '2 days', scheduled_at = scheduled_at - interval '2 days' WHERE id = $1`,
    [campaign.campaign_id],
  )
  await query(`UPDATE campaign_runs SET scheduled_at = scheduled_at - interval '2 days' WHERE campaign_id = $1`, [
    campaign.campaign_id,
  ])
  await start_campaigns({}, work)
  shows(t, await readCampaign(world, campaign), { status: 'paused' })
  await ask('POST', '/resume')
  await sendUntil(work, campaign, 'scheduled')
  shows(t, await runsOf(campaign), [{ run: 1, outcome: 'sent', skipped: 2 }])
})

t.test('canceling between runs makes a draft, which continues with the next run number', async t => {
  const { campaign, run, ask, account } = await open(t)
  await run()
  shows(t, (await ask('POST', '/cancel')).body, { status: 'draft' })
  shows(t, (await ask('GET', '/stats')).body, { status: 'draft', recipients: 2, sent: 2 })
  shows(t, await ask('PATCH', '', { ab_test: { variants: [{}, {}] } }), { status: 422 })
  shows(t, await ask('PATCH', '', { subject: 'April', html: `<a href="https://${account.domain}/april">x</a>` }), {
    status: 200,
  })
  shows(t, await ask('POST', '/send', { scheduled_at: 'in 3 hours' }), { status: 200 })
  await run()
  shows(t, (await ask('GET', '/stats')).body, { status: 'scheduled', recipients: 2, sent: 2 })
  shows(t, (await ask('GET', '/stats?run=1')).body, { recipients: 2, sent: 2 })
  shows(t, await ask('GET', '/stats?run=3'), { status: 404 })
  shows(t, (await ask('GET', '/clicked-links')).body.data, [{ url: `https://${account.domain}/april` }])
  shows(t, (await ask('GET', '/clicked-links?run=1')).body.data, [])
  shows(
    t,
    await query('SELECT DISTINCT subject, campaign_run AS run FROM emails WHERE campaign_id = $1 ORDER BY run', [
      campaign.campaign_id,
    ]),
    [
      { subject: 'March', run: 1 },
      { subject: 'April', run: 2 },
    ],
  )
})

for (const [when, cancels] of [
  ['between runs', false],
  ['after a cancel', true],
] as const) {
  t.test(`DELETE /campaigns/:id ${when} ends the recurrence and keeps the reports`, async t => {
    const { campaign, run, ask, api, account, work, id } = await open(t)
    const kept = await createDraft(api, account)
    await run()
    await makeNextRunDue(world, campaign)
    if (cancels) shows(t, (await ask('POST', '/cancel')).body, { status: 'draft' })
    shows(t, await ask('DELETE'), { status: 200, body: { object: 'campaign', id, deleted: true } })
    const { body } = await api.request('GET', '/api/campaigns')
    shows(t, body.data, [{ id: kept }])
    shows(t, (await ask('GET')).body, { status: 'canceled', scheduled_at: null })
    shows(t, (await ask('GET', '/stats')).body, { status: 'canceled', recipients: 2, sent: 2 })
    shows(t, (await ask('GET', '/runs')).body, { data: [{ run: 1, status: 'sent', recipients_count: 2 }] })
    shows(t, (await ask('GET', '/recipients')).body.data, [{ state: 'mailed' }, { state: 'mailed' }])

    await query(`UPDATE emails SET status = 'failed' WHERE campaign_id = $1`, [id])
    for (const [method, path, given] of [
      ['DELETE', ''],
      ['PATCH', '', { subject: 'April' }],
      ['POST', '/send', {}],
      ['POST', '/cancel'],
      ['POST', '/retry'],
      ['POST', '/test', { to: 'ann@b.com' }],
    ] as const) {
      shows(t, await ask(method, path, given), { status: 404, body: { message: 'Campaign not found' } })
    }
    await start_campaigns({}, work)
    await send_campaign(campaign, work)
    shows(t, await mailsOf(campaign), [{ run: 1, emails: 2, contacts: 2 }])
  })
}

t.test('canceling during a run ends the recurrence', async t => {
  const { campaign, run, work, ask } = await open(t)
  await run()
  await makeNextRunDue(world, campaign)
  await start_campaigns({}, work)
  shows(t, (await ask('POST', '/cancel')).body, { status: 'canceled' })
  await send_campaign(campaign, work)
  await start_campaigns({}, work)
  shows(t, (await ask('GET', '/runs')).body, {
    data: [
      { run: 2, status: 'canceled' },
      { run: 1, status: 'sent' },
    ],
  })
})

t.test('only the first run is an A/B test, and later runs send its winner', async t => {
  const variants = [{ subject: 'Red' }, { subject: 'Blue', html: '<p>Blue</p>' }]
  const { campaign, work, ask } = await open(t, { ab_test: { test_percentage: 100, variants } })
  await runNext(campaign, work)
  await query('UPDATE campaign_runs SET decided_variant = 2 WHERE campaign_id = $1', [campaign.campaign_id])
  await makeNextRunDue(world, campaign)
  await start_campaigns({}, work)
  shows(t, await readCampaign(world, campaign), { status: 'queued' })
  await ask('POST', '/pause')
  shows(t, (await ask('POST', '/resume')).body, { status: 'queued' })
  await sendUntil(work, campaign, 'scheduled')
  const subjects = await query('SELECT DISTINCT subject FROM emails WHERE campaign_id = $1 AND campaign_run = 2', [
    campaign.campaign_id,
  ])
  shows(t, subjects, [{ subject: 'Blue' }])
  shows(t, (await ask('GET', '/ab')).body, {
    variants: [
      { key: 'A', subject: 'Red' },
      { key: 'B', subject: 'Blue' },
    ],
  })
  shows(t, (await ask('GET')).body, { subject: 'March' })
})

t.test('a test without a winner offers none in later runs', async t => {
  const variants = [{ subject: 'Red' }, { subject: 'Blue' }]
  const { account, campaign, run, work, ask, api } = await open(t, { ab_test: { test_percentage: 100, variants } })
  const member = await newMember(world, account.id, 'owner')
  const headers = { cookie: `__Host-mailbrook=${await sessionOf(world, member.id)}`, accept: 'text/html' }
  const offers = async () => {
    const page = await fetch(`${api.url}/campaigns/${campaign.campaign_id}`, { headers })
    const text = await page.text()
    t.match(text, 'B: Blue', 'the page has the figures of the test')
    return text.includes('Choose variant B')
  }
  await run()
  await makeNextRunDue(world, campaign)
  await start_campaigns({}, work)
  shows(t, await readCampaign(world, campaign), { status: 'queued' })
  t.notOk(await offers())
  await ask('POST', '/pause')
  t.notOk(await offers())
  shows(t, await ask('POST', '/ab/winner', { variant: 'B' }), {
    status: 422,
    body: { message: 'The A/B test has no winner: it is sent to all recipients.' },
  })
})

t.test('the last run of a recurring campaign can be retried before the next', async t => {
  const { campaign, run, work, ask } = await open(t)
  await run()
  shows(t, await ask('POST', '/retry'), { status: 422 })
  await query(`UPDATE emails SET status = 'failed' WHERE campaign_id = $1 AND "to" = '{ann@b.com}'`, [
    campaign.campaign_id,
  ])
  shows(t, (await ask('POST', '/retry')).body, { recipients: 1, status: 'queued' })
  await sendUntil(work, campaign, 'scheduled')
  shows(t, await mailsOf(campaign), [{ run: 1, emails: 3, contacts: 2 }])
})

t.test('scheduling a recurring campaign requires scheduled_at', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  await addContacts(world, account, ['ann@b.com'])
  const id = await createDraft(api, account, { recurrence: 'monthly' })
  const { status, body } = await api.request('POST', `/api/campaigns/${id}/send`, { body: {} })
  t.strictSame([status, body.message], [422, '`scheduled_at` must say when the first run of a recurring campaign is.'])
  shows(t, (await api.request('POST', `/api/campaigns/${id}/send`, { body: { scheduled_at: 'now' } })).body, {
    status: 'queued',
  })
  shows(t, (await api.request('GET', `/api/campaigns/${id}`)).body, {
    recurrence: 'monthly',
    recurrence_every: 1,
    timezone: 'UTC',
  })
})

t.test('all runs of a campaign share a poll, which keeps the options of earlier runs', async t => {
  const poll = { question: 'How was it?', options: ['Good', 'Bad'] }
  const { campaign, run, ask, api } = await open(t, { poll })
  await run()
  await ask('POST', '/cancel')
  await ask('PATCH', '', { poll: { question: 'And now?', options: ['Fine', 'Good'] } })
  await ask('POST', '/send', { scheduled_at: 'in 2 hours' })
  await run()
  const { body } = await api.request('GET', `/api/polls/${campaign.campaign_id}`)
  shows(t, body, { question: 'And now?', answers: [{ key: 'fine' }, { key: 'good' }, { key: 'bad' }] })
  const asked = await query(
    `SELECT e.campaign_run AS run, count(DISTINCT c.poll_id)::int AS polls FROM emails e JOIN email_contents c ON c.email_id = e.id
     WHERE e.campaign_id = $1 GROUP BY 1 ORDER BY 1`,
    [campaign.campaign_id],
  )
  t.strictSame(asked, [
    { run: 1, polls: 1 },
    { run: 2, polls: 1 },
  ])
})

t.test('the poll of a campaign counts no recipients of runs before it', async t => {
  const { campaign, run, ask, api } = await open(t)
  await run()
  await ask('POST', '/cancel')
  await ask('PATCH', '', { poll: { question: 'How was it?', options: ['Good', 'Bad'] } })
  await ask('POST', '/send', { scheduled_at: 'in 2 hours' })
  for (const sent_count of [2, 4]) {
    await run()
    shows(t, (await api.request('GET', `/api/polls/${campaign.campaign_id}`)).body, { sent_count })
  }
})
