import t from 'tap'
import { sendCampaign } from '#flows/campaigns/sending/send_campaign.ts'
import { newId } from '#lib/ids.ts'
import { setPlan, upsertPlan } from '#sql/accounts/plans.ts'
import { ingestEvents } from '#sql/events/contact_events.ts'
import { recordHits } from '#sql/tracking/hits.ts'
import { clear_runs } from '#tasks/clear_runs.ts'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { startApi } from '#test/support/api.ts'
import { storeAutomation, waitFor } from '#test/support/automation_runs.ts'
import { addContacts, type QueuedCampaign, queueCampaign, sendUntil } from '#test/support/campaigns.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { eventDraft } from '#test/support/events.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const COUNT = 400
/** As in list_statements.test.ts: a statement that compares all rows of a list with all discards 80,000 or more. */
const MOST_DISCARDED = 5_000

const opened = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const { pool, statements } = await openPlannedPool(t, opened)
const world = { ...opened, pool }
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const contacts = await addContacts(
  world,
  account,
  Array.from({ length: COUNT }, (_, n) => ({ email: `reader${n}@d${n % 4}.com`, properties: { plan: 'pro' } })),
)

async function request(method: string, path: string, body: object = {}): Promise<{ id: string }> {
  const { status, text, body: answer } = await api.request(method, `/api${path}`, method === 'DELETE' ? {} : { body })
  if (status >= 300) throw new Error(text)
  return answer
}

const quadratic = () => statements.splice(0).filter(({ discarded }) => discarded > MOST_DISCARDED)

async function sent(html = '<a href="https://acme.com/">Hi</a>'): Promise<QueuedCampaign> {
  const campaign = await queueCampaign(world, account, { html })
  await sendUntil(work, campaign)
  return campaign
}

t.before(async () => {
  const limits = { emails_per_day: 100_000, emails_per_month: 100_000, automation_runs: 100_000 }
  await upsertPlan(pool, { name: 'limited', domains: null, ai_credits: null, ...limits })
  await setPlan(pool, account.id, 'limited')
  statements.length = 0
})

t.test('a campaign within a quota looks up the decision about each email', async t => {
  await sent()
  t.ok(statements.length > 100, `${statements.length} statements`)
  t.same(quadratic(), [])
})

t.test('a canceled campaign looks up each recipient and each email by its key', async t => {
  const stored = await queueCampaign(world, account)
  const found = await queueCampaign(world, account)
  await work.sender.stop()
  await send_campaign(stored, work)
  await sendCampaign({ ...work, ahead: 0 }, found)
  for (const campaign of [stored, found]) {
    await request('POST', `/campaigns/${campaign.campaign_id}/cancel`)
    await send_campaign(campaign, work)
  }
  t.same(quadratic(), [])
})

t.test('a campaign that is retried looks up each recipient by its key', async t => {
  const { campaign_id } = await queueCampaign(world, account)
  await send_campaign({ account_id: account.id, campaign_id }, work)
  await pool.pg.query(`UPDATE campaigns SET status = 'sent' WHERE id = $1`, [campaign_id])
  await pool.pg.query(`UPDATE emails SET status = 'failed' WHERE campaign_id = $1`, [campaign_id])
  statements.length = 0
  await request('POST', `/campaigns/${campaign_id}/retry`)
  t.same(quadratic(), [])
})

t.test('clicks are compared within their email', async t => {
  const { rows } = await pool.pg.query(
    `SELECT d.id AS delivery_id, c.content_id AS source_id
     FROM deliveries d JOIN email_contents c ON c.email_id = d.email_id WHERE d.campaign_id IS NOT NULL LIMIT 60`,
  )
  for (let link = 0; link < 3; link++) {
    const more = { type: 'click' as const, class: 'human' as const, rule: 'none', ip: '192.0.2.1', user_agent: 'x' }
    const hitOf = (row: { delivery_id: string; source_id: string }) => {
      return {
        ...row,
        ...more,
        account_id: account.id,
        id: newId(),
        link,
        url: 'https://acme.com/',
        created_at: new Date(),
      }
    }
    await recordHits(pool, rows.map(hitOf))
  }
  t.same(quadratic(), [])
})

t.test('events look up their contacts, and runs their events, by key', async t => {
  const automation = await storeAutomation(world, account, [waitFor('paid')])
  for (const name of ['signed.up', 'paid', 'signed.up', 'paid']) {
    await ingestEvents(
      pool,
      contacts.map(id => eventDraft(account, id, name)),
    )
  }
  await request('POST', `/automations/${automation}/stop`)
  await clear_runs({}, work)
  t.same(quadratic(), [])
})

t.test('the values of a deleted property are removed from contacts by key', async t => {
  const { id } = await request('POST', '/contact-properties', { key: 'plan', type: 'string' })
  await request('DELETE', `/contact-properties/${id}`)
  await remove_leftovers({ of: 'property', account_id: account.id, id }, work)
  t.same(quadratic(), [])
})

t.test('the rows of a deleted domain are deleted by key', async t => {
  await request('DELETE', `/domains/${account.domain_id}?with_contacts=true`)
  await remove_leftovers({ of: 'domain', account_id: account.id, id: account.domain_id }, work)
  t.same(quadratic(), [])
})
