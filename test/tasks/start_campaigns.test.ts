import t from 'tap'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { start_campaigns } from '#tasks/start_campaigns.ts'
import { startApi } from '#test/support/api.ts'
import { addRecipient } from '#test/support/campaign_rows.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { readWebhookEvents } from '#test/support/unsubscribing.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
await addWebhook(world, account.id, { endpoint: 'https://hook.acme.com/', events: ['campaign.failed'] })
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
await addContacts(world, account, ['ada@b.com', 'bob@b.com'])
const get = async (id: string) => (await api.request('GET', `/api/campaigns/${id}`)).body
const query = async (text: string, values: unknown[]) => (await world.pool.pg.query(text, values)).rows

async function schedule(fields: object = {}): Promise<string> {
  const id = await createDraft(api, account, fields)
  const { status } = await api.request('POST', `/api/campaigns/${id}/send`, { body: { scheduled_at: 'in 2 hours' } })
  t.equal(status, 200)
  return id
}
const makeDue = (id: string) =>
  query(`UPDATE campaigns SET scheduled_at = now() - interval '1 second' WHERE id = $1`, [id])

t.test('start_campaigns starts each due campaign once', async t => {
  const [due, later] = [await schedule(), await schedule()]
  await makeDue(due)
  await Promise.all(Array.from({ length: 4 }, () => start_campaigns({}, work)))
  shows(t, await get(due), { status: 'queued' })
  shows(t, await get(later), { status: 'scheduled' })
  shows(t, await query('SELECT run FROM campaign_runs WHERE campaign_id = ANY ($1)', [[due, later]]), [{ run: 1 }])
})

t.test('a scheduled campaign has a job at its time', async t => {
  const id = await schedule()
  const jobs = await query(
    `SELECT j.run_at = g.scheduled_at AS is_at FROM graphile_worker._private_jobs j, campaigns g
     WHERE g.id = $1 AND j.key = 'start_campaigns ' || g.id`,
    [id],
  )
  shows(t, jobs, [{ is_at: true }])
})

t.test('a due campaign that cannot be sent fails with the reason and delays no others', async t => {
  const [wrong, right] = [await schedule(), await schedule()]
  await query(`UPDATE campaigns SET html = NULL WHERE id = $1`, [wrong])
  await makeDue(wrong)
  await makeDue(right)
  await start_campaigns({}, work)
  shows(t, await get(wrong), {
    status: 'failed',
    error: 'The campaign has no content: give it `html`, `text` or a `template_id`.',
  })
  shows(t, await get(right), { status: 'queued' })
  const told = await readWebhookEvents(world, account)
  const data = { id: wrong, name: '', status: 'failed', recipients_count: 0 }
  t.strictSame(
    told.map(({ type, data }) => ({ type, data })),
    [{ type: 'campaign.failed', data }],
  )
})

t.test('a hundred due campaigns that cannot be started do not keep later ones waiting', async t => {
  const [broken, later] = [await schedule({ name: 'broken' }), await schedule()]
  await makeDue(later)
  await query(
    `INSERT INTO campaigns
     SELECT (jsonb_populate_record(g, jsonb_build_object('id', gen_random_uuid(), 'scheduled_at', now() - interval '1 hour'))).*
     FROM campaigns g, generate_series(1, 100) WHERE id = $1`,
    [broken],
  )
  await world.pool.pg.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON campaigns FOR EACH ROW WHEN (OLD.name = 'broken') EXECUTE FUNCTION refuse()`)
  t.teardown(() => world.pool.pg.query(`DROP FUNCTION refuse CASCADE; DELETE FROM campaigns WHERE name = 'broken'`))
  await t.rejects(start_campaigns({}, work), { message: 'some scheduled campaigns could not be started' })
  shows(t, await get(later), { status: 'queued' })
})

t.test('a due campaign of a paused domain is queued and waits', async t => {
  const id = await schedule()
  await makeDue(id)
  await query(`UPDATE domains SET paused_at = now(), paused_by = 'operator' WHERE id = $1`, [account.domain_id])
  await start_campaigns({}, work)
  shows(t, await get(id), { status: 'queued', error: null })
  await query('UPDATE domains SET paused_at = NULL, paused_by = NULL WHERE id = $1', [account.domain_id])
})

t.test('a due campaign waits while its domain may not send, and goes on by itself', async t => {
  const id = await schedule()
  await makeDue(id)
  await query(`UPDATE domains SET status = 'failed' WHERE id = $1`, [account.domain_id])
  await start_campaigns({}, work)
  const campaign = { account_id: account.id, campaign_id: id }
  await send_campaign(campaign, work)
  shows(t, await get(id), { status: 'queued', error: null, pause_reason: 'The domain may not send at the moment.' })
  await query(`UPDATE domains SET status = 'verified' WHERE id = $1`, [account.domain_id])
  await send_campaign(campaign, work)
  shows(t, await query('SELECT count(*)::int FROM emails WHERE campaign_id = $1', [id]), [{ count: 2 }])
})

t.test('campaigns of a deleted domain disappear at once and are removed with their queue', async t => {
  const mine = await newAccount(world)
  const [contact] = (await addContacts(world, mine, ['ada@b.com'])) as [string]
  const own = { key: mine.key }
  const id = await createDraft(api, mine)
  await api.request('POST', `/api/campaigns/${id}/send`, own)
  const email = { status: 'queued', state: 'queued' }
  const email_id = await addRecipient(world, mine, id, [contact, 'ada@b.com'], { state: 'm', email })
  await query('DELETE FROM contacts WHERE domain_id = $1', [mine.domain_id])
  const path = `/api/domains/${mine.domain_id}`
  const refused = await api.request('DELETE', path, own)
  t.strictSame(
    [refused.status, refused.body.message],
    [422, 'The domain has campaigns: add `?with_contacts=true` to delete them with it.'],
  )
  shows(t, await api.request('DELETE', `${path}?with_contacts=true`, own), { status: 200 })
  t.equal((await api.request('GET', `/api/campaigns/${id}`, own)).status, 404)
  shows(t, (await api.request('GET', '/api/campaigns', own)).body, { data: [] })

  await remove_leftovers({ account_id: mine.id, of: 'domain', id: mine.domain_id }, work)
  shows(t, await query('SELECT id FROM campaigns WHERE id = $1', [id]), [])
  shows(t, await query('SELECT state FROM campaign_recipients WHERE campaign_id = $1', [id]), [])
  shows(t, (await api.request('GET', `/api/emails/${email_id}`, own)).body, { status: 'canceled', campaign_id: id })
})
