import t from 'tap'
import { newId } from '#lib/ids.ts'
import { lockUsage } from '#sql/accounts/usage.ts'
import { lockRun } from '#sql/campaigns/sending/runs.ts'
import { type ClaimedDelivery, claimDeliveries, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { addRecipient, countFigures } from '#test/support/campaign_rows.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { shows } from '#test/support/shows.ts'
import { readWebhookEvents } from '#test/support/unsubscribing.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
await addWebhook(world, account.id, { endpoint: 'https://hook.acme.com/', events: ['*'] })
const ADDRESSES = ['a@b.com', 'b@b.com', 'c@b.com', 'd@b.com', 'e@b.com']
const contacts = await addContacts(world, account, ADDRESSES)
const person = (n: number): [string, string] => [contacts[n] as string, ADDRESSES[n] as string]

const post = (id: string, action: string, body: object = {}) =>
  api.request('POST', `/api/campaigns/${id}/${action}`, { body })
const get = async (id: string) => (await api.request('GET', `/api/campaigns/${id}`)).body
const stats = async (id: string) => (await api.request('GET', `/api/campaigns/${id}/stats`)).body as object
const readRows = async (text: string, values: unknown[]) => (await world.pool.pg.query(text, values)).rows

async function start(): Promise<string> {
  const id = await createDraft(api, account, { name: 'Spring' })
  shows(t, await post(id, 'send'), { status: 200 })
  return id
}

/** Starts a campaign with four emails (waiting, sending, sent, failed) and a recipient without an email. */
async function startWithRecipients(): Promise<{ id: string; waiting: string; sending: string; failed: string }> {
  const id = await start()
  const add = (n: number, status: string, state: string) =>
    addRecipient(world, account, id, person(n), { state: 'm', email: { status, state } }) as Promise<string>
  const waiting = await add(0, 'queued', 'queued')
  const sending = await add(1, 'queued', 'sending')
  await add(2, 'delivered', 'delivered')
  const failed = await add(3, 'failed', 'failed')
  await addRecipient(world, account, id, person(4), { state: 'p' })
  await countFigures(world, account, id, { recipients: 5, sent: 1, delivered: 1, failed: 1 })
  return { id, waiting, sending, failed }
}

t.test('POST /campaigns/:id/cancel makes a scheduled campaign a draft again', async t => {
  const id = await createDraft(api, account)
  shows(t, (await post(id, 'send', { scheduled_at: 'in 2 hours' })).body, { status: 'scheduled' })
  const { status, body } = await post(id, 'cancel')
  t.strictSame([status, body], [200, { object: 'campaign', id, status: 'draft' }])
  shows(t, await get(id), { status: 'draft', scheduled_at: null })
})

t.test('POST /campaigns/:id/send locks the domain before its audiences, as its deletion does', async t => {
  const named = { name: 'News', domain: account.domain }
  const { id: audience_id } = (await api.request('POST', '/api/audiences', { body: named })).body
  await api.request('POST', `/api/audiences/${audience_id}/contacts`, { body: { email: 'a@b.com' } })
  const id = await createDraft(api, account, { audience_id })
  let sent: ReturnType<typeof post> | undefined
  const deletion = await begin(world, async tx => {
    await tx.run(sql.unsafe`SELECT FROM domains WHERE id = ${account.domain_id} FOR UPDATE`)
    sent = post(id, 'send')
    await untilBlocked(world)
    await tx.run(sql.unsafe`SELECT FROM audiences WHERE id = ${audience_id} FOR UPDATE`)
  })
  await deletion.commit()
  shows(t, await sent, { status: 200 })
})

t.test('POST /campaigns/:id/cancel takes turns with a worker that stores emails within a quota', async t => {
  const id = await start()
  await world.pool.pg.query(`UPDATE accounts SET plan = 'free' WHERE id = $1`, [account.id])
  t.teardown(() => world.pool.pg.query(`UPDATE accounts SET plan = 'unlimited' WHERE id = $1`, [account.id]))
  let canceled: ReturnType<typeof post> | undefined
  const slice = await begin(world, async tx => {
    await lockRun(tx, { account_id: account.id, campaign_id: id })
    canceled = post(id, 'cancel')
    await untilBlocked(world, '%FROM campaigns%')
    await lockUsage(tx, account.id)
  })
  await slice.commit()
  shows(t, await canceled, { status: 200, body: { status: 'canceled' } })
})

t.test('POST /campaigns/:id/cancel cancels all emails that no worker has claimed', async t => {
  const { id, waiting, sending } = await startWithRecipients()
  shows(t, await post(id, 'cancel'), { status: 200, body: { status: 'canceled' } })
  shows(t, await get(id), { status: 'canceled' })
  const rows = await readRows('SELECT email_id AS id, state FROM deliveries WHERE campaign_id = $1 ORDER BY email_id', [
    id,
  ])
  shows(t, rows.slice(0, 2), [
    { id: waiting, state: 'canceled' },
    { id: sending, state: 'sending' },
  ])
  const email = await api.request('GET', `/api/emails/${waiting}`)
  shows(t, email.body, { status: 'canceled', last_event: 'canceled', campaign_id: id, events: [{ type: 'canceled' }] })
  const states = await readRows('SELECT state FROM campaign_recipients WHERE campaign_id = $1 ORDER BY contact_id', [
    id,
  ])
  t.strictSame(states.map(({ state }) => state).sort(), ['c', 'm', 'm', 'm', 'm'])
  shows(t, await stats(id), { recipients: 5, delivered: 1, failed: 1, canceled: 2, pending: 1 })
  const told = (await readWebhookEvents(world, account)).filter(
    ({ data }) => data.id === id || data.email_id === waiting,
  )
  const [canceled] = told.filter(({ type }) => type === 'campaign.canceled')
  t.strictSame(canceled?.data, { id, name: 'Spring', status: 'canceled', recipients_count: 0 })
  shows(
    t,
    told.filter(({ type }) => type === 'email.canceled'),
    [{ data: { email_id: waiting, campaign_id: id, broadcast_id: id } }],
  )
  t.equal((await post(id, 'cancel')).body.message, 'A campaign that is canceled cannot be canceled.')
})

t.test('canceling a campaign refunds the quota of its emails', async t => {
  const { id, waiting } = await startWithRecipients()
  await world.pool.pg.query('UPDATE emails SET quota_debit = 1 WHERE id = $1', [waiting])
  await post(id, 'cancel')
  shows(t, await readRows('SELECT quota_debit FROM emails WHERE id = $1', [waiting]), [{ quota_debit: 0 }])
})

t.test('canceling a campaign refunds an email that a worker has claimed and then gives back', async t => {
  for (const outcome of ['released', 'deferred'] as const) {
    const { id, waiting } = await startWithRecipients()
    await world.pool.pg.query('UPDATE emails SET quota_debit = 1 WHERE id = $1', [waiting])
    const lease = { lease_owner: newId(), lease_seconds: 40, limit: 1, email_ids: [waiting] }
    const [claimed] = await claimDeliveries(world.pool, lease)
    await post(id, 'cancel')
    await settleDeliveries(world.pool, [{ ...(claimed as ClaimedDelivery), outcome, reason: 'x', delay: 60 }])
    const [row] = await readRows('SELECT status, quota_debit FROM emails WHERE id = $1', [waiting])
    t.strictSame(row, { status: 'canceled', quota_debit: 0 }, outcome)
  }
})

t.test('concurrent cancel and send leave a campaign either queued or draft', async t => {
  const id = await createDraft(api, account)
  await post(id, 'send', { scheduled_at: 'in 2 hours' })
  const [canceled, sent] = await Promise.all([post(id, 'cancel'), post(id, 'send')])
  t.equal(canceled.status, 200)
  const { status } = await get(id)
  t.equal(status, sent.status === 200 ? 'queued' : 'draft')
})

t.test('concurrent PATCH and send leave the content that was sent', async t => {
  for (let round = 0; round < 5; round++) {
    const id = await createDraft(api, account, { html: 'old' })
    const patch = api.request('PATCH', `/api/campaigns/${id}`, { body: { html: 'new' } })
    const [changed, sent] = await Promise.all([patch, post(id, 'send')])
    t.equal(sent.status, 200)
    const [row] = await readRows(
      `SELECT g.html, c.html AS frozen FROM campaigns g
       JOIN contents c ON c.account_id = g.account_id AND c.id = g.content_id WHERE g.id = $1`,
      [id],
    )
    t.match(row.frozen, changed.status === 200 ? 'new' : 'old')
    t.equal(row.html, changed.status === 200 ? 'new' : 'old')
  }
})

t.test('a paused campaign waits until it is resumed', async t => {
  const { id, waiting } = await startWithRecipients()
  shows(t, await post(id, 'pause'), { status: 200, body: { object: 'campaign', id, status: 'paused' } })
  const { paused_at } = (await get(id)) as unknown as { paused_at: string }
  t.ok(paused_at)
  const next = 'SELECT next_at = $2 AS waits FROM deliveries WHERE email_id = $1'
  shows(t, await readRows(next, [waiting, 'infinity']), [{ waits: true }])
  const { body } = await api.request('GET', `/api/emails/${waiting}`)
  shows(t, body, { queue: [{ state: 'queued', reason: 'The campaign is paused.', next_attempt_at: null }] })
  t.equal((await post(id, 'pause')).body.message, 'A campaign that is paused cannot be paused.')
  const told = (await readWebhookEvents(world, account)).filter(({ data }) => data.id === id)
  shows(t, told, [{ type: 'campaign.paused', data: { status: 'paused' } }])

  shows(t, await post(id, 'resume'), { status: 200, body: { status: 'queued' } })
  shows(t, await get(id), { status: 'queued', paused_at: null })
  shows(t, await readRows(next, [waiting, 'infinity']), [{ waits: false }])
  t.equal((await post(id, 'resume')).body.message, 'A campaign that is queued cannot be resumed.')
})

t.test('POST /campaigns/:id/retry sends again only to recipients whose email failed', async t => {
  const { id, failed } = await startWithRecipients()
  t.equal((await post(id, 'retry')).body.message, 'A campaign that is queued cannot be retried.')
  await world.pool.pg.query(`UPDATE campaigns SET status = 'sent', sent_at = now() WHERE id = $1`, [id])
  // The server of the failed email accepted it, and reported the failure later.
  await world.pool.pg.query('UPDATE emails SET sent_at = now() WHERE id = $1', [failed])
  await countFigures(world, account, id, { sent: 1 })
  shows(t, await post(id, 'retry'), { status: 200, body: { object: 'campaign', id, status: 'queued', recipients: 1 } })
  shows(t, await get(id), { status: 'queued', sent_at: null })
  const pending = await readRows(
    `SELECT contact_id, email_id FROM campaign_recipients WHERE campaign_id = $1 AND state = 'p' ORDER BY contact_id`,
    [id],
  )
  shows(t, pending, [
    { contact_id: contacts[3] as string, email_id: null },
    { contact_id: contacts[4] as string, email_id: null },
  ])
  shows(t, await stats(id), { recipients: 5, sent: 1, failed: 0, pending: 4 })
  t.equal((await api.request('GET', `/api/emails/${failed}`)).status, 200)
  await world.pool.pg.query(`UPDATE campaigns SET status = 'sent' WHERE id = $1`, [id])
  t.equal((await post(id, 'retry')).body.message, 'No email of the campaign has failed.')
})

t.test('POST /campaigns/:id/retry refuses a scheduled campaign', async t => {
  const { id } = await startWithRecipients()
  await world.pool.pg.query(`UPDATE campaigns SET status = 'draft' WHERE id = $1`, [id])
  shows(t, await post(id, 'send', { scheduled_at: 'in 2 hours' }), { status: 200, body: { status: 'scheduled' } })
  const { status, body } = await post(id, 'retry')
  t.strictSame([status, body.message], [422, 'A campaign that is scheduled cannot be retried.'])
  shows(t, await get(id), { status: 'scheduled' })
})
