import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import { readFigures } from '#sql/campaigns/counts.ts'
import { storeContents } from '#sql/contents/contents.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import type { Work } from '#tasks/task.ts'
import type { Api } from './api.ts'
import { waitUntil } from './wait_until.ts'
import type { TestAccount } from './world.ts'

type Database = Pick<Foundation, 'pool'>
type ContactFields = {
  email: string
  first_name?: string
  unsubscribed?: boolean
  properties?: Record<string, unknown>
}

/** Adds contacts to the domain of an account, without webhooks and history; returns their ids in the same order. */
export async function addContacts(
  { pool }: Database,
  account: TestAccount,
  contacts: (string | ContactFields)[],
): Promise<string[]> {
  const rows = contacts.map(contact => {
    const fields = typeof contact === 'string' ? { email: contact } : contact
    return { unsubscribed: false, properties: {}, ...fields, id: newId() }
  })
  await pool.pg.query(
    `INSERT INTO contacts (account_id, id, domain_id, email, first_name, unsubscribed, properties, source)
     SELECT $1, c.id, $2, c.email, c.first_name, c.unsubscribed, c.properties, 'api'
     FROM json_to_recordset($3) AS c(id uuid, email text, first_name text, unsubscribed boolean, properties jsonb)`,
    [account.id, account.domain_id, JSON.stringify(rows)],
  )
  return rows.map(({ id }) => id)
}

/** Creates a draft to all contacts of the account by the API; returns its id. */
export async function createDraft(api: Api, account: TestAccount, fields: object = {}): Promise<string> {
  const draft = {
    ...{ from: `News <news@${account.domain}>`, subject: 'March', html: '<p>Hello {{first_name|friend}}</p>' },
    ...{ audience_id: account.domain_id, ...fields },
  }
  const { status, text, body } = await api.request('POST', '/api/campaigns', { key: account.key, body: draft })
  if (status !== 201) throw new Error(text)
  return body.id
}

export type QueuedCampaign = { account_id: string; campaign_id: string }

type Fields = {
  audience_id?: string
  segment_id?: string
  topic_id?: string
  subject?: string
  html?: string
  sender?: string
}

/** A campaign to all contacts of the domain as POST /campaigns/:id/send stores it, without its job. */
export async function queueCampaign(
  { pool }: Database,
  account: TestAccount,
  { html = '<p>Hi {{first_name}}</p>', ...fields }: Fields = {},
): Promise<QueuedCampaign> {
  const [id, content_id] = [newId(), newId()]
  await storeContents(pool, account.id, [{ id: content_id, html, text: null }])
  const row = {
    ...{ account_id: account.id, id, domain_id: account.domain_id, name: 'March', status: 'queued', content_id },
    ...{ sender: `Acme <news@${account.domain}>`, subject: 'Hello', reply_to: [], started_at: new Date() },
    ...fields,
  }
  const columns = Object.keys(row)
  await pool.pg.query(
    `INSERT INTO campaigns (${columns}) SELECT ${columns} FROM json_populate_record(NULL::campaigns, $1)`,
    [JSON.stringify(row)],
  )
  await pool.pg.query('INSERT INTO campaign_runs (account_id, campaign_id, run) VALUES ($1, $2, 1)', [account.id, id])
  return { account_id: account.id, campaign_id: id }
}

/** Runs the job of a campaign and sends what it stores, repeatedly, until the campaign has the status. */
export async function sendUntil(work: CampaignWork, campaign: QueuedCampaign, status = 'sent'): Promise<void> {
  const isThere = async () => (await readCampaign(work, campaign)).status === status
  await sendUntilTrue(work, campaign, isThere, `the campaign is ${status}`)
}

type CampaignWork = Work & { ahead?: number }

/** Like `sendUntil`, until a condition is true. */
export async function sendUntilTrue(
  work: CampaignWork,
  campaign: QueuedCampaign,
  isThere: () => Promise<boolean>,
  what: string,
): Promise<void> {
  work.sender.start()
  await waitUntil(async () => {
    await send_campaign(campaign, work)
    await work.sender.idle()
    return isThere()
  }, what)
}

export async function readCampaign({ pool }: Database, { account_id, campaign_id }: QueuedCampaign) {
  const { rows } = await pool.pg.query('SELECT * FROM campaigns WHERE account_id = $1 AND id = $2', [
    ...[account_id, campaign_id],
  ])
  return rows[0]
}

/** The figures of run 1 that are not zero. */
export async function figuresOf({ pool }: Database, campaign: QueuedCampaign): Promise<Record<string, number>> {
  const figures = await readFigures(pool, { ...campaign, run: 1 })
  return Object.fromEntries(Object.entries(figures).filter(([, count]) => count !== 0))
}

/** The rows of recipients, by address. */
export async function recipientsOf({ pool }: Database, { account_id, campaign_id }: QueuedCampaign) {
  const { rows } = await pool.pg.query(
    `SELECT email, state, reason, email_id IS NOT NULL AS has_email, sent_at IS NOT NULL AS was_sent FROM campaign_recipients
     WHERE account_id = $1 AND campaign_id = $2 ORDER BY email`,
    [account_id, campaign_id],
  )
  return rows
}

/** Sets the status, like the commit of a cancel, pause or resume. */
export async function setStatus(
  { pool }: Database,
  { account_id, campaign_id }: QueuedCampaign,
  status: 'canceled' | 'paused' | 'queued',
): Promise<void> {
  await pool.pg.query('UPDATE campaigns SET status = $3 WHERE account_id = $1 AND id = $2', [
    ...[account_id, campaign_id, status],
  ])
}
