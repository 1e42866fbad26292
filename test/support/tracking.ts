import type { Foundation } from '#flows/process/run_process.ts'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { now } from '#lib/clock.ts'
import { newId } from '#lib/ids.ts'
import { writeLinkToken, writeRecipientTokens } from '#lib/tracking/tracking_tokens.ts'
import type { TrackingHit } from '#sql/tracking/hits.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import type { TestAccount } from '#test/support/world.ts'

export const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

/** An email to one recipient with its pixel and links; `urls` are the targets of the links. */
export type TrackedEmail = {
  account_id: string
  email_id: string
  delivery_id: string
  recipient: string
  urls: string[]
  open_path: string
  click_paths: string[]
}

type TrackedOptions = {
  links?: number
  /** Seconds since it was delivered; null: not sent yet. */
  delivered_ago?: number | null
  to?: string
  campaign?: TrackedCampaign
}

/** Creates a tracked email, by default delivered a minute ago. */
export async function makeTracked(
  world: Foundation,
  account: TestAccount,
  { links = 3, delivered_ago = 60, to = `p${newId().slice(-12)}@b.com`, campaign }: TrackedOptions = {},
): Promise<TrackedEmail> {
  const { pg } = world.pool
  const urls = Array.from({ length: links }, (_, n) => `https://acme.com/page?n=${n}&é`)
  const html = urls.map(url => `<a href="${url}">x</a>`).join('')
  const email_id = await acceptEmail(world, account, { to: [to], html })
  const { rows } = await pg.query('SELECT id FROM deliveries WHERE email_id = $1', [email_id])
  const delivery_id: string = rows[0].id
  await pg.query('UPDATE email_contents SET tracking = 3 WHERE email_id = $1', [email_id])
  if (campaign) await joinCampaign(world, account, { campaign, email_id, email: to })
  if (delivered_ago !== null) {
    await pg.query(`UPDATE deliveries SET state = 'delivered', next_at = NULL WHERE id = $1`, [delivery_id])
    await pg.query(
      `INSERT INTO email_events (account_id, email_id, type, recipient, created_at)
       VALUES ($1, $2, 'delivered', $3, now() - make_interval(secs => $4))`,
      [account.id, email_id, to, delivered_ago],
    )
    await pg.query(`UPDATE emails SET status = 'delivered', last_event = 'delivered' WHERE id = $1`, [email_id])
  }
  const keys = await createReadTokenKeys(world)()
  const tokens = writeRecipientTokens({ account_id: account.id, delivery_id }, keys)
  const linkOf = (url: string, link: number) => writeLinkToken({ source_id: email_id, link, url }, keys)
  return {
    ...{ account_id: account.id, email_id, delivery_id, recipient: to, urls },
    open_path: `/t/o/${tokens.open}.gif`,
    click_paths: urls.map((url, link) => `/t/c/${linkOf(url, link)}/${tokens.click}`),
  }
}

export type TrackedCampaign = { id: string }

/** Creates a campaign with this many links. */
export async function makeCampaign(world: Foundation, account: TestAccount, links = 3): Promise<TrackedCampaign> {
  const id = newId()
  const { pg } = world.pool
  await pg.query('INSERT INTO campaigns (account_id, id, domain_id) VALUES ($1, $2, $3)', [
    account.id,
    id,
    account.domain_id,
  ])
  await pg.query(
    `INSERT INTO campaign_links (account_id, campaign_id, variant, link, url)
     SELECT $1, $2, 0, n, 'https://acme.com/' || n FROM generate_series(0, $3 - 1) AS n`,
    [account.id, id, links],
  )
  return { id }
}

async function joinCampaign(
  { pool: { pg } }: Foundation,
  account: TestAccount,
  { campaign, email_id, email }: { campaign: TrackedCampaign; email_id: string; email: string },
): Promise<void> {
  const { rows } = await pg.query(
    `INSERT INTO contacts (account_id, id, domain_id, email, source) VALUES ($1, $2, $3, $4, 'api')
     ON CONFLICT (account_id, domain_id, email) DO UPDATE SET updated_at = now() RETURNING id`,
    [account.id, newId(), account.domain_id, email],
  )
  const contact_id = rows[0].id
  await pg.query('UPDATE emails SET campaign_id = $2, campaign_run = 1, contact_id = $3 WHERE id = $1', [
    ...[email_id, campaign.id, contact_id],
  ])
  await pg.query(
    `INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, email, email_id, state, sent_at)
     VALUES ($1, $2, $3, $4, $5, 'm', now())`,
    [account.id, campaign.id, contact_id, email, email_id],
  )
}

/** A human hit on the pixel (`link` null) or on a link, this many ms from now. */
export function makeHit(
  email: TrackedEmail,
  link: number | null,
  ms = 0,
  fields: Partial<TrackingHit> = {},
): TrackingHit {
  const ofLink = link === null ? {} : { source_id: email.email_id, link, url: email.urls[link] as string }
  return {
    ...{ account_id: email.account_id, delivery_id: email.delivery_id, id: newId(), ...ofLink },
    ...{ type: link === null ? ('open' as const) : ('click' as const), class: 'human', rule: 'default' },
    ...{ ip: '192.0.2.7', user_agent: BROWSER, created_at: new Date(now().getTime() + ms) },
    ...fields,
  }
}

export type StoredHit = { type: string; class: string; rule: string; link: number | null }

/** The hits of an email, ordered by time. */
export async function readHits({ pool }: Foundation, { email_id }: { email_id: string }): Promise<StoredHit[]> {
  const { rows } = await pool.pg.query(
    'SELECT type, class, rule, link FROM tracking_hits WHERE email_id = $1 ORDER BY created_at, id',
    [email_id],
  )
  return rows
}

/** Waits until this many hits of an email are recorded. */
export async function waitForHits(world: Foundation, email: { email_id: string }, count: number): Promise<StoredHit[]> {
  return waitUntil(
    async () => {
      const hits = await readHits(world, email)
      return hits.length >= count && hits
    },
    async () => `${count} hits are recorded, of which there are ${(await readHits(world, email)).length}`,
  )
}

/** The figures of a campaign that are not 0, by name. */
export async function readFigures({ pool }: Foundation, campaign: TrackedCampaign): Promise<Record<string, number>> {
  const { rows } = await pool.pg.query<{ name: string; sum: number }>(
    `SELECT name, sum(count)::integer AS sum FROM campaign_counts WHERE campaign_id = $1
     GROUP BY name HAVING sum(count) <> 0 ORDER BY name`,
    [campaign.id],
  )
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]))
}
