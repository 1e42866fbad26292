import { Resend } from 'resend'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { addRecipient } from '#test/support/campaign_rows.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const [contact] = (await addContacts(world, account, ['ada@b.com'])) as [string]
const { broadcasts } = new Resend(account.key, { baseUrl: `${api.url}/api` })

const given = { from: `a@${account.domain}`, subject: 'March', html: '<p>Hi</p>', segmentId: account.domain_id }

async function create(more: object = {}): Promise<string> {
  const { data, error } = await broadcasts.create({ ...given, ...more })
  t.equal(error, null)
  return data?.id as string
}

t.test('the resend package creates, reads, changes, copies and deletes a broadcast', async t => {
  const id = await create({ name: 'Spring', previewText: 'Soon', replyTo: 'r@b.co' })
  const record = { object: 'campaign', id, name: 'Spring', status: 'draft', segment_id: account.domain_id }
  shows(t, (await broadcasts.get(id)).data as object, {
    ...record,
    preview_text: 'Soon',
    reply_to: ['r@b.co'],
    html: '<p>Hi</p>',
  })
  shows(t, await broadcasts.update(id, { subject: 'April' }), { error: null, data: { id } })
  shows(t, (await broadcasts.list()).data as object, { has_more: false, data: [{ ...record, subject: 'April' }] })
  const copy = (await broadcasts.duplicate(id)).data?.id as string
  shows(t, (await broadcasts.get(copy)).data as object, { name: 'Copy of Spring' })
  for (const each of [id, copy])
    shows(t, await broadcasts.remove(each), { error: null, data: { id: each, deleted: true } })
  shows(t, await broadcasts.get(id), { error: { name: 'not_found', message: 'Campaign not found' } })
})

t.test('the resend package schedules, cancels and sends a broadcast', async t => {
  const id = await create({ send: true, scheduledAt: 'in 2 hours' })
  shows(t, (await broadcasts.get(id)).data as object, { status: 'scheduled' })
  shows(t, await broadcasts.cancel(id), { error: null, data: { id, status: 'draft' } })
  shows(t, await broadcasts.send(id), { error: null, data: { id, status: 'queued' } })
  shows(t, await broadcasts.send(id), { error: { name: 'validation_error' } })
})

t.test('the resend package lists recipients and links of a broadcast', async t => {
  const id = await create({ send: true })
  await addRecipient(world, account, id, [contact, 'ada@b.com'], {
    state: 'm',
    email: { status: 'delivered', state: 'delivered' },
  })
  const delivered = await broadcasts.recipients(id, { type: 'delivered' })
  shows(t, delivered.data as object, {
    has_more: false,
    data: [{ id: contact, contact_id: contact, email: 'ada@b.com' }],
  })
  shows(t, (await broadcasts.recipients(id, { type: 'bounced' })).data as object, { data: [] })
  await bounce(id)
  const bounced = await broadcasts.recipients(id, { type: 'bounced', bounceType: 'permanent' })
  shows(t, bounced.data as object, { data: [{ email: 'bob@b.com', bounce_type: 'permanent' }] })
  shows(t, (await broadcasts.recipients(id, { type: 'bounced', bounceType: 'transient' })).data as object, { data: [] })
  await clickTwice(id)
  const clicked = await broadcasts.recipients(id, { type: 'clicked' })
  const clicked_links = [{ url: 'https://a.com/', clicks: 2 }]
  shows(t, clicked.data as object, { data: [{ email: 'ada@b.com', count: 2, clicked_links }] })
  await world.pool.pg.query(
    `INSERT INTO campaign_links (account_id, campaign_id, variant, link, url, clicks, unique_clicks)
     VALUES ($1, $2, 0, 0, 'https://a.com/', 3, 2), ($1, $2, 0, 1, 'https://b.com/', 5, 4)`,
    [account.id, id],
  )
  shows(t, (await broadcasts.clickedLinks(id)).data as object, {
    has_more: false,
    data: [
      { url: 'https://b.com/', clicks: 5, unique_clicks: 4 },
      { url: 'https://a.com/', clicks: 3, unique_clicks: 2 },
    ],
  })
})

/** Adds a recipient whose email has bounced. */
async function bounce(id: string): Promise<void> {
  const [bob] = (await addContacts(world, account, ['bob@b.com'])) as [string]
  const recipient = { state: 'm', email: { status: 'bounced', state: 'bounced' } } as const
  const email_id = await addRecipient(world, account, id, [bob, 'bob@b.com'], recipient)
  await world.pool.pg.query(
    `INSERT INTO email_events (account_id, email_id, type, recipient, data)
     VALUES ($1, $2, 'bounced', 'bob@b.com', '{"bounce":{"type":"Permanent"}}')`,
    [account.id, email_id],
  )
}

/** Adds two clicks of a person and one of a machine to the email for ada@b.com. */
async function clickTwice(id: string): Promise<void> {
  await world.pool.pg.query(
    `INSERT INTO tracking_hits (account_id, delivery_id, id, email_id, type, class, rule, link, url, created_at)
     SELECT d.account_id, d.id, gen_random_uuid(), d.email_id, 'click', c.class, 'x', 0, 'https://a.com/', now()
     FROM deliveries d CROSS JOIN unnest(ARRAY['human', 'human', 'machine']) AS c(class)
     WHERE d.campaign_id = $1 AND d.recipient = 'ada@b.com'`,
    [id],
  )
  await world.pool.pg.query(
    `UPDATE campaign_recipients SET clicks = 2, first_clicked_at = now() WHERE campaign_id = $1 AND email = 'ada@b.com'`,
    [id],
  )
}
