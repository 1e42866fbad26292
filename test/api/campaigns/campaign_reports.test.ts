import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { addRecipient, countFigures } from '#test/support/campaign_rows.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const ADDRESSES = ['a@b.com', 'b@b.com', 'c@b.com']
const contacts = await addContacts(world, account, ADDRESSES)
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const query = (text: string, values: unknown[]) => world.pool.pg.query(text, values)

const id = await createDraft(api, account)
await api.request('POST', `/api/campaigns/${id}/send`)
const delivered = { status: 'delivered', state: 'delivered' }
const person = (n: number): [string, string] => [contacts[n] as string, ADDRESSES[n] as string]
const email_id = await addRecipient(world, account, id, person(0), { state: 'm', email: delivered })
const bounced = { status: 'bounced', state: 'bounced' }
const bounced_id = await addRecipient(world, account, id, person(1), { state: 'm', email: bounced })
await query(`INSERT INTO email_events (account_id, email_id, type) VALUES ($1, $2, 'bounced')`, [
  account.id,
  bounced_id,
])
await addRecipient(world, account, id, person(2), { state: 'x', reason: 'unsubscribed' })

t.test('GET /campaigns/:id/stats sums counts over shards, and returns rates', async t => {
  await countFigures(world, account, id, {
    recipients: 100,
    excluded: 1,
    sent: 98,
    delivered: 97,
    bounced: 1,
    failed: 1,
  })
  await countFigures(world, account, id, { opened: 80, unique_opened: 55, clicked: 12, unique_clicked: 10, replied: 3 })
  await query(
    `INSERT INTO campaign_counts SELECT $1, $2, 1, 0, 'unsubscribed', s, 1 FROM generate_series(100, 101) s`,
    [account.id, id],
  )
  shows(t, await get(`/campaigns/${id}/stats`), {
    ...{ object: 'campaign_stats', campaign_id: id, status: 'queued', recipients: 100, sent: 98, delivered: 97 },
    ...{ bounced: 1, failed: 1, suppressed: 1, canceled: 0, pending: 0, delivery_delayed: 0, complained: 0 },
    ...{ opened: 80, unique_opened: 55, clicked: 12, unique_clicked: 10, replied: 3, unsubscribed: 2 },
    ...{ mpp_opened: 0, machine_opened: 0, machine_clicked: 0, in_doubt: 0 },
    ...{ delivery_rate: 0.9898, open_rate: 0.567, click_rate: 0.1031, bounce_rate: 0.0102, complaint_rate: 0 },
    ...{ unsubscribe_rate: 0.0206, top_links: [] },
  })
})

t.test('the figures of a draft are 0', async t => {
  const draft = await createDraft(api, account)
  shows(t, await get(`/campaigns/${draft}/stats`), { status: 'draft', recipients: 0, pending: 0, open_rate: 0 })
})

t.test('top_links are the 20 most clicked URLs, each once', async t => {
  await query(
    `INSERT INTO campaign_links (account_id, campaign_id, variant, link, url, clicks, unique_clicks)
     SELECT $1, $2, 0, n, 'https://a.com/' || n % 25, n, 1 FROM generate_series(0, 30) n`,
    [account.id, id],
  )
  const { top_links } = (await get(`/campaigns/${id}/stats`)) as unknown as { top_links: object[] }
  t.equal(top_links.length, 20)
  t.strictSame(top_links.slice(0, 2), [
    { url: 'https://a.com/5', clicks: 35, unique_clicks: 2 },
    { url: 'https://a.com/4', clicks: 33, unique_clicks: 2 },
  ])
  const { data } = await get(`/campaigns/${id}/clicked-links`)
  t.equal(data.length, 25)
  const ids = data.map(link => link.id)
  const lists = async (filter: string, has_more: boolean, page: string[]) =>
    shows(t, await get(`/broadcasts/${id}/clicked-links?${filter}`), { has_more, data: page.map(id => ({ id })) })
  await lists('limit=10', true, ids.slice(0, 10))
  await lists(`limit=15&after=${ids[9]}`, false, ids.slice(10))
  await lists(`limit=4&before=${ids[9]}`, true, ids.slice(5, 9))
  await lists(`limit=20&before=${ids[9]}`, false, ids.slice(0, 9))
  await lists(`after=${newId()}`, false, [])
  t.equal((await api.request('GET', `/api/campaigns/${id}/clicked-links?after=nope`)).status, 422)
})

t.test('GET /campaigns/:id/engagement lists who opened, clicked and replied, newest first', async t => {
  const received = newId()
  await query(
    `INSERT INTO received_emails (account_id, id, state, mail_from, received_for, client, sha256, size, subject, category)
     VALUES ($1, $2, 'parsed', 'a@b.com', '{}', '{}', '', 1, 'Re: March', 'interested')`,
    [account.id, received],
  )
  await query(
    `INSERT INTO received_contents (account_id, received_email_id, headers, text) VALUES ($1, $2, '{}', $3)`,
    [account.id, received, 'é'.repeat(400)],
  )
  await query(
    `UPDATE campaign_recipients SET first_opened_at = now() - interval '1 hour', opens = 2, first_clicked_at = now(), clicks = 3,
       replied_at = now(), received_email_id = $3 WHERE campaign_id = $1 AND contact_id = $2`,
    [id, contacts[0], received],
  )
  await query(
    `UPDATE campaign_recipients SET first_opened_at = now(), opens = 1 WHERE campaign_id = $1 AND contact_id = $2`,
    [id, contacts[1]],
  )
  await query('DELETE FROM contacts WHERE id = $1', [contacts[1]])
  shows(t, await get(`/campaigns/${id}/engagement`), {
    object: 'campaign_engagement',
    campaign_id: id,
    opened: [
      { email: 'b@b.com', contact_id: null, open_count: 1 },
      { email: 'a@b.com', contact_id: contacts[0], open_count: 2 },
    ],
    clicked: [{ email: 'a@b.com', contact_id: contacts[0], click_count: 3 }],
    replied: [
      {
        ...{ email: 'a@b.com', contact_id: contacts[0], received_email_id: received, subject: 'Re: March' },
        ...{ preview: 'é'.repeat(300), category: 'interested' },
      },
    ],
  })
})

t.test('GET /campaigns/:id/recipients lists recipients and why others were left out', async t => {
  const list = async (filter: string) =>
    (await get(`/campaigns/${id}/recipients?${filter}`)).data.map(recipient => recipient.id)
  shows(t, await get(`/campaigns/${id}/recipients`), {
    has_more: false,
    data: [
      { id: contacts[2], email: 'c@b.com', state: 'excluded', reason: 'unsubscribed', email_id: null, status: null },
      { id: contacts[1], contact_id: null, email: 'b@b.com', state: 'mailed', reason: null, status: 'bounced' },
      { id: contacts[0], contact_id: contacts[0], state: 'mailed', status: 'delivered', email_id, opens: 2, clicks: 3 },
    ],
  })
  t.strictSame(await list('state=excluded'), [contacts[2]])
  t.strictSame(await list('state=pending'), [])
  t.strictSame(await list('type=bounced'), [contacts[1]])
  t.strictSame(await list('bounce_type=undetermined'), [contacts[1]])
  t.strictSame(await list('type=bounced&bounce_type=permanent'), [])
  await query('SELECT forget_emails(ARRAY[$1::uuid], ARRAY[$2::uuid])', [account.id, bounced_id])
  const { data } = await get(`/campaigns/${id}/recipients?type=bounced`)
  shows(t, data, [{ id: contacts[1], status: 'bounced', bounce_type: null }], 'its events are deleted')
  t.strictSame(await list('type=suppressed'), [contacts[2]])
  t.strictSame(await list('email=A@b.com'), [contacts[0]])
  t.strictSame(await list(`limit=1&after=${contacts[2]}`), [contacts[1]])
  t.equal((await api.request('GET', `/api/campaigns/${id}/recipients?state=x`)).status, 422)
})

t.test('GET /emails filters by campaign, and by campaigns or other mail', async t => {
  const single = await acceptEmail(world, account)
  const list = async (filter: string) => (await get(`/emails?${filter}`)).data.map(email => email.id)
  const all = await list(`campaign_id=${id}`)
  t.equal(all.length, 2)
  t.ok(all.includes(email_id as string))
  t.strictSame(await list(`campaign_id=${id.toUpperCase()}&status=delivered`), [email_id])
  t.strictSame(await list(`campaign_id=${id}&q=nothing`), [])
  t.strictSame(await list(`campaign_id=${newId()}`), [])
  t.strictSame(await list('folder=campaigns'), all)
  t.strictSame(await list(`folder=campaigns&limit=1&after=${all[0]}`), [all[1]])
  t.strictSame(await list('folder=transactional'), [single])
  t.strictSame(await list(`folder=transactional&campaign_id=${id}`), [])
  shows(t, await get(`/emails/${email_id}`), { campaign_id: id, contact_id: contacts[0] })
})
