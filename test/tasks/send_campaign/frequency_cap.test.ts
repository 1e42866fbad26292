import t, { type Test } from 'tap'
import { send_campaign } from '#tasks/send_campaign.ts'
import { startApi } from '#test/support/api.ts'
import {
  addContacts,
  createDraft,
  figuresOf,
  type QueuedCampaign,
  readCampaign,
  recipientsOf,
  sendUntil,
} from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const query = async (text: string, values: unknown[]) => (await world.pool.pg.query(text, values)).rows

async function open(t: Test, addresses = ['ann@b.com', 'bob@b.com', 'eve@b.com']) {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const contacts = await addContacts(world, account, addresses)
  const work = openWork(t, world, 'capture')
  const draft = (fields: object = {}) => createDraft(api, account, fields)
  const start = async (fields: object = {}): Promise<QueuedCampaign> => {
    const id = await draft(fields)
    const { status, text } = await api.request('POST', `/api/campaigns/${id}/send`, { body: {} })
    t.equal(status, 200, text)
    return { account_id: account.id, campaign_id: id }
  }
  const preview = async (fields: object) =>
    (await api.request('GET', `/api/campaigns/${await draft(fields)}/recipients/preview`)).body
  return { account, api, contacts, work, draft, start, preview }
}

const CAP = { skip_if_mailed_within_hours: 24 }
const reasonsOf = async (campaign: QueuedCampaign) =>
  (await recipientsOf(world, campaign)).map(({ email, reason }: { email: string; reason: string | null }) => [
    email,
    reason,
  ])

t.test('the frequency cap skips recently mailed contacts and shows the reason', async t => {
  const { contacts, work, start, preview, api, draft } = await open(t)
  const first = await start(CAP)
  await sendUntil(work, first)
  t.strictSame(await reasonsOf(first), [
    ['ann@b.com', null],
    ['bob@b.com', null],
    ['eve@b.com', null],
  ])
  await query(
    `UPDATE contact_engagement SET last_sent_at = now() - interval '25 hours', last_email_at = now() - interval '25 hours' WHERE contact_id = $1`,
    [contacts[1]],
  )
  shows(t, await preview(CAP), { contacts: 3, recipients: 1, left_out: { mailed_recently: 2, unengaged: 0 } })
  shows(t, await preview({}), { recipients: 3 })
  const second = await start(CAP)
  await sendUntil(work, second)
  t.strictSame(await reasonsOf(second), [
    ['ann@b.com', 'mailed_recently'],
    ['bob@b.com', null],
    ['eve@b.com', 'mailed_recently'],
  ])
  shows(t, await figuresOf(world, second), { recipients: 3, excluded: 2, sent: 1 })
  const third = await draft(CAP)
  const { body } = await api.request('POST', `/api/campaigns/${third}/send`, { body: {} })
  t.equal(body.message, 'Nobody would get the campaign.')
})

t.test('test emails do not count for the frequency cap', async t => {
  const { api, work, start, draft } = await open(t, ['ann@b.com'])
  const id = await draft(CAP)
  shows(t, await api.request('POST', `/api/campaigns/${id}/test`, { body: { to: 'ann@b.com' } }), { status: 200 })
  const campaign = await start(CAP)
  await sendUntil(work, campaign)
  t.strictSame(await reasonsOf(campaign), [['ann@b.com', null]])
})

t.test('only one of several concurrent campaigns reaches a contact', async t => {
  const { work, start, account } = await open(
    t,
    Array.from({ length: 60 }, (_, n) => `p${n}@b.com`),
  )
  const campaigns = await Promise.all([start(CAP), start(CAP), start(CAP)])
  const slow = { ...work, slice: 7 }
  await Promise.all(campaigns.flatMap(campaign => [send_campaign(campaign, slow), send_campaign(campaign, slow)]))
  const rows = await query(
    'SELECT count(*)::int AS emails, count(DISTINCT contact_id)::int AS contacts FROM emails WHERE account_id = $1',
    [account.id],
  )
  shows(t, rows, [{ emails: 60, contacts: 60 }])
  for (const campaign of campaigns) await sendUntil(work, campaign)
})

t.test('emails of campaigns without a cap count as soon as they are stored', async t => {
  const { work, start } = await open(t, ['ann@b.com'])
  const capped = await start(CAP)
  const other = await start()
  await send_campaign(other, work)
  await send_campaign(capped, work)
  t.strictSame(await reasonsOf(capped), [['ann@b.com', 'mailed_recently']])
})

t.test('an email that waits to be sent counts although that of a later campaign was canceled', async t => {
  const { api, work, start, preview } = await open(t, ['ann@b.com', 'bob@b.com'])
  const [first, second] = [await start(), await start()]
  await send_campaign(first, work)
  await send_campaign(second, work)
  await query(`UPDATE emails SET status = 'failed' WHERE campaign_id = $1 AND "to" = ARRAY['bob@b.com']`, [
    first.campaign_id,
  ])
  shows(t, await api.request('POST', `/api/campaigns/${second.campaign_id}/cancel`), { status: 200 })
  shows(t, await preview(CAP), { contacts: 2, recipients: 1, left_out: { mailed_recently: 1 } })
  const capped = await start(CAP)
  await send_campaign(capped, work)
  t.strictSame(await reasonsOf(capped), [
    ['ann@b.com', 'mailed_recently'],
    ['bob@b.com', null],
  ])
})

t.test('an email in doubt of an ended campaign counts although that of a later one was canceled', async t => {
  const { api, work, start, preview } = await open(t, ['ann@b.com'])
  const first = await start()
  await send_campaign(first, work)
  await query(`UPDATE deliveries SET state = 'in_doubt', next_at = NULL WHERE campaign_id = $1`, [first.campaign_id])
  await query(`UPDATE emails SET status = 'sent' WHERE campaign_id = $1`, [first.campaign_id])
  await send_campaign(first, work)
  shows(t, await readCampaign(world, first), { status: 'sent' })
  const second = await start()
  await send_campaign(second, work)
  shows(t, await api.request('POST', `/api/campaigns/${second.campaign_id}/cancel`), { status: 200 })
  shows(t, await preview(CAP), { contacts: 1, recipients: 0, left_out: { mailed_recently: 1 } })
})

t.test('emails that were not sent do not count, so that a retry reaches them', async t => {
  const { api, work, start } = await open(t, ['ann@b.com'])
  const campaign = await start(CAP)
  await send_campaign(campaign, work)
  await query(`UPDATE deliveries SET state = 'failed', next_at = NULL WHERE campaign_id = $1`, [campaign.campaign_id])
  await query(`UPDATE emails SET status = 'failed' WHERE campaign_id = $1`, [campaign.campaign_id])
  await send_campaign(campaign, work)
  shows(t, await api.request('POST', `/api/campaigns/${campaign.campaign_id}/retry`), {
    status: 200,
    body: { recipients: 1 },
  })
  await sendUntil(work, campaign)
  t.strictSame(await reasonsOf(campaign), [['ann@b.com', null]])
  shows(t, await query(`SELECT state FROM deliveries WHERE campaign_id = $1 ORDER BY id`, [campaign.campaign_id]), [
    { state: 'failed' },
    { state: 'delivered' },
  ])
})

t.test('contacts without opens for long are skipped', async t => {
  const names = ['reads', 'new', 'sleeps', 'answered', 'never', 'hidden']
  const { account, contacts, preview, work, start } = await open(
    t,
    names.map(name => `${name}@b.com`),
  )
  const days = (count: number | null) => (count === null ? null : new Date(Date.now() - count * 86_400_000))
  for (const [n, [first, sent, opened]] of [
    [100, 1, 20],
    [10, 1, null],
    [100, 1, 40],
    [100, 50, 49], // got no email after the last open
    [null, null, null],
    [100, 1, null],
  ].entries() as Iterable<[number, (number | null)[]]>) {
    await query(
      'INSERT INTO contact_engagement (account_id, contact_id, first_email_at, last_sent_at, last_opened_at) VALUES ($1, $2, $3, $4, $5)',
      [account.id, contacts[n], days(first ?? null), days(sent ?? null), days(opened ?? null)],
    )
  }
  await query('UPDATE contacts SET do_not_track = true WHERE id = $1', [contacts[5]])
  shows(t, await preview({ exclude_unengaged_days: 30 }), {
    recipients: 5,
    left_out: { unengaged: 1, mailed_recently: 0 },
  })
  shows(t, await preview({ exclude_unengaged_days: 45 }), { recipients: 6 })
  const campaign = await start({ exclude_unengaged_days: 30 })
  await sendUntil(work, campaign)
  t.strictSame(
    (await reasonsOf(campaign)).filter(([, reason]) => reason),
    [['sleeps@b.com', 'unengaged']],
  )
})

t.test('contacts who were mailed recently may be scheduled for later', async t => {
  const { api, work, start, draft } = await open(t)
  await sendUntil(work, await start())
  const schedule = async (fields: object) =>
    (
      await api.request('POST', `/api/campaigns/${await draft({ ...CAP, ...fields })}/send`, {
        body: { scheduled_at: 'in 3 days', expected_recipients: 3 },
      })
    ).status
  t.equal(await schedule({}), 200)
  t.equal(await schedule({ ab_test: { variants: [{ subject: 'Red' }, { subject: 'Blue' }] } }), 200)
})

t.test('an email whose failure is reported later does not count, so that a retry reaches its contact', async t => {
  const { account, api, work, start } = await open(t, ['ann@b.com', 'bob@b.com'])
  const campaign = await start(CAP)
  await sendUntil(work, campaign)
  const [{ id }] = await query(`SELECT id FROM deliveries WHERE campaign_id = $1 AND recipient = 'ann@b.com'`, [
    campaign.campaign_id,
  ])
  await query(`SELECT apply_report($1, $2, 'failed', 'refused', '550 5.7.1 No', 'policy', NULL, NULL)`, [
    account.id,
    id,
  ])
  shows(t, await api.request('POST', `/api/campaigns/${campaign.campaign_id}/retry`), { status: 200 })
  await sendUntil(work, campaign)
  t.strictSame(await reasonsOf(campaign), [
    ['ann@b.com', null],
    ['bob@b.com', null],
  ])
})
