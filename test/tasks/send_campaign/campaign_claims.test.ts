import t, { type Test } from 'tap'
import { newId } from '#lib/ids.ts'
import { lockCampaign } from '#sql/campaigns/campaigns.ts'
import { resumeCampaign } from '#sql/campaigns/stop/change_status.ts'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { purge } from '#tasks/purge.ts'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { startApi } from '#test/support/api.ts'
import { addContacts, figuresOf, queueCampaign, readCampaign, sendUntil, setStatus } from '#test/support/campaigns.ts'
import { begin } from '#test/support/database/locks.ts'
import { suppress } from '#test/support/database/states.ts'
import { acceptEmail, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const people = (count: number) => Array.from({ length: count }, (_, n) => ({ email: `p${n}@b.com` }))

async function suppressions({ campaign_id }: { campaign_id: string }) {
  const { rows } = await pool.pg.query(
    'SELECT recipient, state, reason FROM deliveries WHERE campaign_id = $1 ORDER BY recipient',
    [campaign_id],
  )
  return rows
}

t.test('a contact who unsubscribes before the claim gets no email', async t => {
  const account = await newAccount(world)
  const topic_id = await makeTopic(world, account, { name: 'News' })
  const [, left, out, deleted, gone] = await addContacts(world, account, people(5))
  const [outside] = await addContacts(world, account, ['p5@b.com'])
  await pool.pg.query(`INSERT INTO contact_topics VALUES ($1, $2, $3, 'opt_out')`, [account.id, outside, topic_id])
  const campaign = await queueCampaign(world, account, { topic_id })
  const work = openWork(t, world, 'capture')
  await send_campaign(campaign, work)
  await pool.pg.query('UPDATE contacts SET unsubscribed = true WHERE id = $1', [left])
  await pool.pg.query(`INSERT INTO contact_topics VALUES ($1, $2, $3, 'opt_out')`, [account.id, out, topic_id])
  await pool.pg.query('DELETE FROM contacts WHERE id = $1', [deleted])
  await suppress(world, account.id, 'p4@b.com')
  await sendUntil(work, campaign)

  const has_left = { state: 'suppressed', reason: 'The recipient has unsubscribed.' }
  t.strictSame(await suppressions(campaign), [
    { recipient: 'p0@b.com', state: 'delivered', reason: null },
    { recipient: 'p1@b.com', ...has_left },
    { recipient: 'p2@b.com', state: 'suppressed', reason: 'The recipient is not subscribed to the topic.' },
    { recipient: 'p3@b.com', ...has_left },
    { recipient: 'p4@b.com', state: 'suppressed', reason: 'The address is on the suppression list.' },
  ])
  t.strictSame(await figuresOf(world, campaign), { recipients: 5, sent: 1, delivered: 1, suppressed: 4 })
  const api = await startApi(t, world, account.key)
  const { body } = await api.request('GET', `/api/campaigns/${campaign.campaign_id}/recipients?type=suppressed`)
  shows(t, body.data, [
    { id: gone, state: 'mailed', reason: 'suppressed', status: 'suppressed' },
    { id: deleted, state: 'mailed', reason: 'deleted', status: 'suppressed' },
    { id: out, state: 'mailed', reason: 'not_subscribed_to_topic', status: 'suppressed' },
    { id: left, state: 'mailed', reason: 'unsubscribed', status: 'suppressed' },
  ])
  const { body: runs } = await api.request('GET', `/api/campaigns/${campaign.campaign_id}/runs`)
  shows(t, runs, { data: [{ run: 1, recipients_count: 1 }] })
  shows(t, await readCampaign(world, campaign), { recipients_count: 1 })
})

t.test('a contact who unsubscribes before the email is stored has a row with the reason', async t => {
  const account = await newAccount(world)
  const ids = await addContacts(world, account, people(3))
  const campaign = await queueCampaign(world, account)
  const work = openWork(t, world, 'capture')
  // Recipients are selected first, and nothing is stored while sending is paused.
  await pool.pg.query('UPDATE accounts SET paused_at = now() WHERE id = $1', [account.id])
  await send_campaign(campaign, work)
  shows(t, await readCampaign(world, campaign), { pause_reason: 'Sending is paused for this account.' })
  await pool.pg.query('UPDATE contacts SET unsubscribed = true WHERE id = $1', [ids[0]])
  await pool.pg.query('DELETE FROM contacts WHERE id = $1', [ids[1]])
  await pool.pg.query('UPDATE accounts SET paused_at = NULL WHERE id = $1', [account.id])
  await sendUntil(work, campaign)
  const { rows } = await pool.pg.query(
    'SELECT state, reason FROM campaign_recipients WHERE campaign_id = $1 ORDER BY email',
    [campaign.campaign_id],
  )
  t.strictSame(rows, [
    { state: 'x', reason: 'unsubscribed' },
    { state: 'x', reason: 'deleted' },
    { state: 'm', reason: null },
  ])
  t.strictSame(await figuresOf(world, campaign), { recipients: 3, excluded: 2, sent: 1, delivered: 1 })
})

t.test('a claim takes other emails first, and at most max_campaigns of campaigns', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, people(5))
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, openWork(t, world, 'capture'))
  await acceptEmail(world, account)
  const claimed = await claimDeliveries(pool, { lease_owner: newId(), lease_seconds: 40, limit: 10, max_campaigns: 2 })
  t.strictSame(
    claimed.map(({ priority }) => priority),
    [0, 10, 10],
  )
})

t.test('campaign emails in doubt are held until a person decides', async t => {
  const { account, campaign, emails } = await inDoubt(t)
  const api = await startApi(t, world, account.key)
  const decide = (path: string, body?: object) => api.request('POST', `/api${path}`, { body })
  shows(t, await readCampaign(world, campaign), { status: 'sent' })
  t.strictSame(await figuresOf(world, campaign), { recipients: 4, in_doubt: 4 })

  const [first, second, third] = emails
  shows(t, await decide(`/emails/${first}/release`), { status: 200, body: { object: 'email', id: first } })
  shows(t, await decide(`/emails/${second}/drop`), { status: 200 })
  shows(t, await decide(`/emails/${second}/drop`), {
    status: 422,
    body: { message: 'No recipient of this email is in doubt.' },
  })
  shows(t, await decide(`/emails/${newId()}/drop`), { status: 404 })
  shows(t, await decide(`/emails/${third}/retry`), { status: 200 })
  t.strictSame(await figuresOf(world, campaign), { recipients: 4, sent: 1, delivered: 1, failed: 1, in_doubt: 1 })
  const path = `/campaigns/${campaign.campaign_id}/in-doubt`
  shows(t, await decide(path, { action: 'wait' }), { status: 422 })
  shows(t, await decide(`/campaigns/${newId()}/in-doubt`, { action: 'retry' }), { status: 404 })
  shows(t, await decide(path, { action: 'release' }), { status: 200, body: { decided: 1 } })
})

t.test('campaign emails in doubt are given up after their domain was deleted', async t => {
  const [{ account }, { account: other }] = [await inDoubt(t), await inDoubt(t)]
  const work = openWork(t, world)
  await pool.pg.query('DELETE FROM domains WHERE id = $1', [account.domain_id])
  await remove_leftovers({ of: 'domain', account_id: account.id, id: account.domain_id }, work)
  await purge({}, work)
  const statesOf = async ({ id }: { id: string }) => {
    const query = 'SELECT state, reason, count(*)::int FROM deliveries WHERE account_id = $1 GROUP BY 1, 2'
    return (await pool.pg.query(query, [id])).rows
  }
  const reason = 'It was in doubt when its domain was deleted.'
  t.strictSame(await statesOf(account), [{ state: 'failed', reason, count: 4 }])
  shows(t, await statesOf(other), [{ state: 'in_doubt', count: 4 }])
})

async function inDoubt(t: Test) {
  const account = await newAccount(world)
  const contacts = [0, 1, 2, 3].map(n => ({ email: `drop-post-dot-${n}@b.com` }))
  await addContacts(world, account, contacts)
  const campaign = await queueCampaign(world, account)
  const sink = await openSink(t)
  const work = openWork(t, world, sink.url)
  await sendUntil(work, campaign)
  await work.sender.stop() // emails sent again would be in doubt again
  const { rows } = await pool.pg.query('SELECT id FROM emails WHERE campaign_id = $1 ORDER BY id', [
    campaign.campaign_id,
  ])
  return { account, campaign, emails: rows.map(({ id }) => id as string) }
}

t.test('a claim skips a busy destination and takes the others', async t => {
  await pool.pg.query('DELETE FROM deliveries')
  const account = await newAccount(world)
  const domains = ['a.com', 'busy.com', 'm.com', 'z.com', '0.com']
  await addContacts(
    world,
    account,
    domains.flatMap(domain => [1, 2, 3].map(n => ({ email: `p${n}@${domain}` }))),
  )
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, openWork(t, world, 'capture'))
  const lease = { lease_owner: newId(), lease_seconds: 40, busy_destinations: ['busy.com'] }
  t.equal((await claimDeliveries(pool, { ...lease, limit: 4 })).length, 4)
  const rest = await claimDeliveries(pool, { ...lease, limit: 100 })
  t.equal(rest.length, 8)
  t.notOk(rest.some(({ destination }) => destination === 'busy.com'))
  t.equal((await claimDeliveries(pool, { ...lease, busy_destinations: [], limit: 100 })).length, 3)
})

t.test('a claim by email ids takes none of campaigns when max_campaigns is 0', async t => {
  await pool.pg.query('DELETE FROM deliveries')
  const account = await newAccount(world)
  await addContacts(world, account, people(3))
  await send_campaign(await queueCampaign(world, account), openWork(t, world, 'capture'))
  const { rows } = await pool.pg.query('SELECT email_id FROM deliveries')
  const email_ids = [...rows.map(({ email_id }) => email_id as string), await acceptEmail(world, account)]
  const claim = { lease_owner: newId(), lease_seconds: 40, limit: 10, email_ids }
  t.equal((await claimDeliveries(pool, { ...claim, max_campaigns: 0 })).length, 1)
  t.equal((await claimDeliveries(pool, { ...claim, max_campaigns: 1, bulk_busy: ['b.com'] })).length, 0)
  t.equal((await claimDeliveries(pool, { ...claim, max_campaigns: 1 })).length, 3)
})

t.test('a claim postpones no email of a campaign that is being resumed', async t => {
  await pool.pg.query('DELETE FROM deliveries')
  const account = await newAccount(world)
  await addContacts(world, account, people(1))
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, openWork(t, world, 'capture'))
  await setStatus(world, campaign, 'paused') // the email is still due, as one is whose attempt has just been given up
  const claim = { lease_owner: newId(), lease_seconds: 40, limit: 10 }
  const id = { account_id: account.id, id: campaign.campaign_id }
  const resuming = await begin(world, async tx => {
    await lockCampaign(tx, id)
    await resumeCampaign(tx, id)
  })
  t.strictSame(await claimDeliveries(pool, claim), [])
  await resuming.commit()
  t.equal((await claimDeliveries(pool, claim)).length, 1)
})
