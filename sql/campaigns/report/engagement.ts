import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { CATEGORIES } from '#lib/receiving/replies/category.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { type RunRef, runOf } from './run_of.ts'

const who = {
  email: z.string().describe('Address of the recipient.'),
  contact_id: z.string().nullable().describe('Id of the contact; null if it was deleted.'),
}

const Opened = z
  .object({
    ...who,
    opened_at: z.date().describe('First open by a person, or by a proxy for one.'),
    open_count: z.int().describe('Opens by people, and by proxies that load images for them.'),
  })
  .meta({ id: 'CampaignOpen' })

const Clicked = z
  .object({
    ...who,
    clicked_at: z.date().describe('First click by a person.'),
    click_count: z.int().describe('Clicks by people.'),
  })
  .meta({ id: 'CampaignClick' })

const Replied = z
  .object({
    ...who,
    replied_at: z.date().nullable().describe('When the reply arrived.'),
    received_email_id: z.string().describe('Id of the reply, for `GET /emails/receiving/:id`.'),
    subject: z.string().describe('Its subject.'),
    preview: z.string().describe('Its first 300 characters.'),
    category: z.enum(CATEGORIES).nullable().describe('Its content; null while that is not known.'),
    received_at: z.date().describe('When it was received.'),
  })
  .meta({ id: 'CampaignReply' })

const lists = {
  opened: z.array(Opened).describe('Recipients who opened it, newest first, at most 500.'),
  clicked: z.array(Clicked).describe('Recipients who clicked a link, newest first, at most 500.'),
  replied: z.array(Replied).describe('Recipients who replied, newest first, at most 500, without deleted replies.'),
}

/** The engagement of the recipients of a campaign (GET /campaigns/:id/engagement). */
export const CampaignEngagement = z
  .object({
    object: z.literal('campaign_engagement'),
    campaign_id: z.string().describe('Id of the campaign.'),
    ...lists,
  })
  .meta({ id: 'CampaignEngagement' })
export type CampaignEngagement = z.infer<typeof CampaignEngagement>

/** Maximum number of rows per list. */
const MAX_ROWS = 500
const MAX_PREVIEW = 300

/** Returns the recipients of a run who did something, by the time when they first did it. */
function newest(campaign: RunRef, at: FragmentSqlToken): FragmentSqlToken {
  return sql.fragment`(
    SELECT r.* FROM campaign_recipients r
    WHERE r.account_id = ${campaign.account_id} AND r.campaign_id = ${campaign.id} AND ${at} IS NOT NULL
      AND r.run = ${runOf(campaign)}
    ORDER BY ${at} DESC LIMIT ${MAX_ROWS}
  ) r LEFT JOIN contacts c ON c.account_id = r.account_id AND c.id = r.contact_id`
}

const columns = sql.fragment`coalesce(r.email, c.email, '') AS email, c.id AS contact_id`

export async function readEngagement(db: Queryable, campaign: RunRef): Promise<CampaignEngagement> {
  const opened = await db.any(sql.type(Opened)`
    SELECT ${columns}, r.first_opened_at AS opened_at, r.opens AS open_count
    FROM ${newest(campaign, sql.fragment`r.first_opened_at`)} ORDER BY r.first_opened_at DESC
  `)
  const clicked = await db.any(sql.type(Clicked)`
    SELECT ${columns}, r.first_clicked_at AS clicked_at, r.clicks AS click_count
    FROM ${newest(campaign, sql.fragment`r.first_clicked_at`)} ORDER BY r.first_clicked_at DESC
  `)
  const replied = await db.any(sql.type(Replied)`
    SELECT ${columns}, r.replied_at, m.id AS received_email_id, m.subject, left(coalesce(b.text, ''), ${MAX_PREVIEW}) AS preview,
      m.category, m.created_at AS received_at
    FROM ${newest(campaign, sql.fragment`r.replied_at`)}
    JOIN received_emails m ON m.account_id = r.account_id AND m.id = r.received_email_id
    LEFT JOIN received_contents b ON b.account_id = m.account_id AND b.received_email_id = m.id
    ORDER BY r.replied_at DESC
  `)
  return { object: 'campaign_engagement', campaign_id: campaign.id, opened, clicked, replied }
}
