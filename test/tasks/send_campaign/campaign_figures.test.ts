import t from 'tap'
import { retryCampaign } from '#flows/campaigns/stop_campaign.ts'
import { changePreferences } from '#flows/contacts/preferences/change_preferences.ts'
import { newId } from '#lib/ids.ts'
import { readDomainFigures, readFigures } from '#sql/campaigns/counts.ts'
import { readEngagement } from '#sql/campaigns/report/engagement.ts'
import { listRecipients } from '#sql/campaigns/report/recipients.ts'
import { type ClaimedDelivery, claimDeliveries, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { insertReply } from '#sql/receiving/replies.ts'
import { applyReportedOutcome } from '#sql/receiving/reports.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import {
  addContacts,
  figuresOf,
  queueCampaign,
  readCampaign,
  recipientsOf,
  sendUntil,
} from '#test/support/campaigns.ts'
import { suppress } from '#test/support/database/states.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const at = (mailbox: string) => `${mailbox}@${world.config.SIMULATOR_DOMAIN}`

async function claimOne(): Promise<ClaimedDelivery> {
  const [claimed] = await claimDeliveries(pool, { lease_owner: newId(), lease_seconds: 40, limit: 1 })
  return claimed as ClaimedDelivery
}

t.test('each outcome updates its figure, and the figures add up to the recipients', async t => {
  const account = await newAccount(world)
  const mailboxes = ['delivered', 'delivered+2', 'bounced', 'complained', 'suppressed']
  const contacts = await addContacts(world, account, [
    ...mailboxes.map(mailbox => ({ email: at(mailbox) })),
    { email: 'ann@acme.test' },
    { email: 'gone@b.com' },
    { email: 'out@b.com', unsubscribed: true },
  ])
  await suppress(world, account.id, 'gone@b.com')
  const campaign = await queueCampaign(world, account)
  await sendUntil(openWork(t, world, 'capture'), campaign)

  t.strictSame(await figuresOf(world, campaign), {
    ...{ recipients: 7, excluded: 2, sent: 3, delivered: 3, complained: 1, bounced: 1, suppressed: 1 },
  })
  shows(t, await readCampaign(world, campaign), { recipients_count: 4 })
  const reached = (mailbox: string, was_sent: boolean) => ({
    ...{ email: at(mailbox), state: 'm', reason: null, has_email: true, was_sent },
  })
  t.strictSame(await recipientsOf(world, campaign), [
    { email: 'ann@acme.test', state: 'x', reason: 'reserved_domain', has_email: false, was_sent: false },
    reached('bounced', false),
    reached('complained', true),
    reached('delivered+2', true),
    reached('delivered', true),
    { email: 'gone@b.com', state: 'x', reason: 'suppressed', has_email: false, was_sent: false },
    reached('suppressed', false),
  ])
  const { rows } = await pool.pg.query(
    'SELECT contact_id, sent_count, last_sent_at IS NOT NULL AS was_sent FROM contact_engagement WHERE account_id = $1 AND sent_count > 0 ORDER BY contact_id',
    [account.id],
  )
  const sent = [0, 1, 3].map(n => ({ contact_id: contacts[n], sent_count: 1, was_sent: true }))
  t.strictSame(rows, sent)
})

t.test('later outcomes update the figures, once each', async t => {
  const account = await newAccount(world)
  const [ann, bob, cat, dan] = ['ann@b.com', 'bob@b.com', 'cat@b.com', 'dan@b.com']
  await addContacts(
    world,
    account,
    [ann, bob, cat, dan].map(email => ({ email }) as { email: string }),
  )
  const campaign = await queueCampaign(world, account)
  await sendUntil(openWork(t, world, 'capture'), campaign)
  t.strictSame(await figuresOf(world, campaign), { recipients: 4, sent: 4, delivered: 4 })

  const find = async (address: string) => {
    const query =
      'SELECT id AS delivery_id, account_id, email_id FROM deliveries WHERE account_id = $1 AND recipient = $2'
    return (await pool.pg.query(query, [account.id, address])).rows[0]
  }
  const none = { reason: 'Said so.', reply: null, class: null, bounce: null }
  for (const [address, outcome] of [
    [ann, 'bounced'],
    [bob, 'complained'],
  ] as const) {
    const { account_id, delivery_id } = await find(address as string)
    const report = { account_id, delivery_id, outcome, suppression_id: newId(), ...none }
    for (let n = 0; n < 2; n++) await pool.transaction(tx => applyReportedOutcome(tx, report))
  }
  const { email_id } = await find(cat as string)
  for (let n = 0; n < 2; n++) {
    const received = { account_id: account.id, id: newId() }
    await pool.transaction(tx => insertReply(tx, received, { email_id, category: null }))
  }
  const topic_id = await makeTopic(world, account, { name: 'News' })
  const token = { account_id: account.id, domain_id: account.domain_id, address: dan as string, topic_id }
  const dans = { ...token, email_id: (await find(dan as string)).email_id }
  const origin = { how: 'page', source_id: null, client_address: null } as const
  await changePreferences(pool, dans, () => ({ topics: [{ id: topic_id, subscription: 'opt_out' }] }), origin)
  await changePreferences(pool, dans, () => ({ everything: 'opt_out' }), origin)

  t.strictSame(await figuresOf(world, campaign), {
    ...{ recipients: 4, sent: 4, delivered: 3, bounced: 1, complained: 1, replied: 1, unsubscribed: 1 },
  })
})

t.test('a failed recipient counts once in the metrics, however often the campaign is retried', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com', 'bob@b.com'])
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  const failed = async () => {
    const query = 'SELECT sum(failed)::integer AS failed FROM email_metrics WHERE account_id = $1'
    return (await pool.pg.query(query, [account.id])).rows[0].failed
  }
  for (let n = 0; n < 2; n++) {
    await sendUntil(work, campaign)
    const { rows } = await pool.pg.query(
      `SELECT id AS delivery_id, account_id, email_id FROM deliveries WHERE account_id = $1 AND recipient = 'ann@b.com'
       ORDER BY email_id DESC LIMIT 1`,
      [account.id],
    )
    const report = { ...rows[0], outcome: 'failed' as const, suppression_id: null }
    const none = { reason: 'Said so.', reply: null, class: null, bounce: null }
    await pool.transaction(tx => applyReportedOutcome(tx, { ...report, ...none }))
    t.equal(await failed(), 1)
    shows(t, await figuresOf(world, campaign), { failed: 1 })
    await retryCampaign(pool, { account_id: account.id, id: campaign.campaign_id })
    t.equal(await failed(), 0)
  }
})

t.test('a recipient counts once as delayed if the email of a retried campaign is delayed again', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com'])
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  const settle = async (outcome: 'deferred' | 'failed') => {
    await pool.pg.query('UPDATE deliveries SET next_at = now() WHERE account_id = $1', [account.id])
    const claimed = await claimOne()
    await settleDeliveries(pool, [{ ...claimed, outcome, reason: 'x' }])
  }
  const delayed = async () => {
    const query = 'SELECT sum(delivery_delayed)::integer AS delayed FROM email_metrics WHERE account_id = $1'
    return (await pool.pg.query(query, [account.id])).rows[0].delayed
  }
  for (let n = 0; n < 2; n++) {
    await send_campaign(campaign, work)
    for (const outcome of ['deferred', 'deferred', 'failed'] as const) await settle(outcome)
    await send_campaign(campaign, work)
    t.equal(await delayed(), 1)
    shows(t, await figuresOf(world, campaign), { failed: 1, delayed: 1 })
    await retryCampaign(pool, { account_id: account.id, id: campaign.campaign_id })
    t.equal(await delayed(), 0)
  }
})

t.test('a delayed recipient counts as unreached if no server replied to the first attempt', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com', 'bob@b.com'])
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, openWork(t, world, 'capture'))
  for (const replies of [['451 Later.'], []]) {
    await pool.pg.query('UPDATE deliveries SET next_at = now() WHERE account_id = $1', [account.id])
    const claimed = await claimDeliveries(pool, { lease_owner: newId(), lease_seconds: 40, limit: 2 })
    const deferred = { outcome: 'deferred', delay: 60, reason: 'x' } as const
    await settleDeliveries(
      pool,
      claimed.map((delivery, n) => ({ ...delivery, ...deferred, ...(replies[n] ? { reply: replies[n] } : {}) })),
    )
    t.strictSame(await figuresOf(world, campaign), { recipients: 2, delayed: 2, unreached: 1 })
  }
})

t.test('a complaint about mail in doubt counts it as sent', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com'])
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, openWork(t, world, 'capture'))
  const delivery = await claimOne()
  await settleDeliveries(pool, [{ ...delivery, outcome: 'in_doubt', reason: 'x', hold: true }])
  t.strictSame(await figuresOf(world, campaign), { recipients: 1, in_doubt: 1 })
  const none = { reason: 'Said so.', reply: null, class: null, bounce: null, suppression_id: newId() }
  const report = { account_id: account.id, delivery_id: delivery.id, outcome: 'complained', ...none } as const
  await pool.transaction(tx => applyReportedOutcome(tx, report))
  t.strictSame(await figuresOf(world, campaign), { recipients: 1, sent: 1, delivered: 1, complained: 1 })
  shows(t, await recipientsOf(world, campaign), [{ was_sent: true }])
})

t.test('a retried recipient counts as sent only while its last email is accepted', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com'])
  const campaign = await queueCampaign(world, account)
  const id = { account_id: account.id, id: campaign.campaign_id }
  const work = openWork(t, world, 'capture')
  const shownAsSent = async () => {
    const { data } = await listRecipients(pool, id, { type: 'sent' }, { limit: 10 })
    const { sent = 0 } = await readFigures(pool, { ...campaign, run: 1 })
    t.equal(sent, data.length)
    return data.map(({ sent_at }) => sent_at !== null)
  }
  /** Settles the email as a worker does, and ends the run. */
  const settle = async (outcome: 'delivered' | 'failed' | 'bounced') => {
    await send_campaign(campaign, work)
    const claimed = await claimOne()
    await settleDeliveries(pool, [{ ...claimed, outcome, reason: 'x' }])
    await send_campaign(campaign, work)
  }
  await settle('delivered')
  t.strictSame(await shownAsSent(), [true])
  const { rows } = await pool.pg.query('SELECT id AS delivery_id, account_id FROM deliveries WHERE account_id = $1', [
    account.id,
  ])
  const none = { reason: 'Said so.', reply: null, class: null, bounce: null, suppression_id: null }
  await pool.transaction(tx => applyReportedOutcome(tx, { ...rows[0], outcome: 'failed', ...none }))
  for (const outcome of ['failed', 'failed', 'bounced'] as const) {
    await retryCampaign(pool, id)
    t.strictSame(await shownAsSent(), [])
    await settle(outcome)
    t.strictSame(await shownAsSent(), [])
  }
  shows(t, await figuresOf(world, campaign), { recipients: 1, bounced: 1 })
})

t.test('a recipient was sent a campaign when it was first accepted, and once', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com'])
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  const deliver = async (age: number) => {
    await send_campaign(campaign, work)
    const claimed = await claimOne()
    await pool.pg.query(`UPDATE deliveries SET updated_at = now() - interval '1 hour' WHERE id = $1`, [claimed.id])
    const result = { outcome: 'delivered', reply: '250 OK', via: 'mx.b.com', age } as const
    await settleDeliveries(pool, [{ ...claimed, ...result }])
    await send_campaign(campaign, work)
    return claimed.id
  }
  const none = { reason: 'Said so.', reply: null, class: null, bounce: null, suppression_id: null }
  const report = { account_id: account.id, delivery_id: await deliver(1_800), outcome: 'failed', ...none } as const
  await pool.transaction(tx => applyReportedOutcome(tx, report))
  await retryCampaign(pool, { account_id: account.id, id: campaign.campaign_id })
  await deliver(0)
  await sendUntil(work, await queueCampaign(world, account))
  const { rows } = await pool.pg.query(
    `SELECT r.sent_at < now() - interval '20 minutes' AS is_first, g.sent_count
     FROM campaign_recipients r JOIN contact_engagement g USING (account_id, contact_id)
     WHERE r.campaign_id = $1`,
    [campaign.campaign_id],
  )
  t.strictSame(rows, [{ is_first: true, sent_count: 2 }], 'another campaign counts too')
})

t.test('figures are those of one run and of one domain', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com'])
  const campaign = await queueCampaign(world, account)
  await sendUntil(openWork(t, world, 'capture'), campaign)
  const [account_id, id] = [account.id, campaign.campaign_id]
  const opened = 'UPDATE campaign_recipients SET first_opened_at = now(), opens = 1 WHERE campaign_id = $1'
  await pool.pg.query(opened, [id])
  for (const [run, count] of [
    [1, 1],
    [2, 0],
  ] as const) {
    t.equal((await readEngagement(pool, { account_id, id, run })).opened.length, count)
  }
  t.same(await readDomainFigures(pool, { account_id, domain_id: account.domain_id }), { sent: 1, complained: 0 })
  t.same(await readDomainFigures(pool, { account_id, domain_id: newId() }), { sent: 0, complained: 0 })
})

t.test('mail of a campaign that is deleted meanwhile is settled without figures', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@b.com'])
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, openWork(t, world, 'capture'))
  const claimed = await claimOne()
  await pool.pg.query('DELETE FROM campaigns WHERE id = $1', [campaign.campaign_id])
  const delivered = { outcome: 'delivered', reply: '250 OK', via: 'mx.b.com' } as const
  t.equal((await settleDeliveries(pool, [{ ...claimed, ...delivered }])).length, 1)
  t.strictSame(await figuresOf(world, campaign), {})
})

t.test('a campaign without recipients is sent at once', async t => {
  const account = await newAccount(world)
  const campaign = await queueCampaign(world, account)
  await sendUntil(openWork(t, world, 'capture'), campaign)
  shows(t, await readCampaign(world, campaign), { status: 'sent', recipients_count: 0 })
})
