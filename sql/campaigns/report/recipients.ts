import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { LeftOut } from '../count_recipients.ts'
import { BounceType, bounceType, conditionsOf, type RecipientFilter, RecipientState } from './recipient_filter.ts'
import { type RunRef, runOf } from './run_of.ts'

const Reason = z.enum([...LeftOut.options, 'deleted'])

const ClickedLink = z
  .object({ url: z.string().describe('The URL.'), clicks: z.int().describe('Clicks by people.') })
  .meta({ id: 'RecipientLink' })

/** A contact to whom a campaign is sent, or who was left out (GET /campaigns/:id/recipients). */
export const CampaignRecipient = z
  .object({
    object: z.literal('campaign_recipient'),
    id: z.string(),
    contact_id: z.string().nullable().describe('Id of the contact, the same as `id`; null if it was deleted.'),
    email: z.string().describe('Address.'),
    state: RecipientState.describe(
      '`pending`: its email is not stored yet. `mailed`: it is, see `status`. `excluded`: it gets none for `reason`.',
    ),
    reason: Reason.nullable().describe('Why the contact gets no email.'),
    email_id: z.string().nullable().describe('Id of its email.'),
    status: z.string().nullable().describe('Status of its email.'),
    opens: z.int().describe('Opens by people, and by proxies that load images for them.'),
    clicks: z.int().describe('Clicks by people.'),
    count: z
      .int()
      .nullable()
      .describe('`opens` if the query has `type=opened`, `clicks` if it has `type=clicked`; else null.'),
    clicked_links: z.array(ClickedLink).describe('Links that it clicked, most clicked first.'),
    bounce_type: BounceType.nullable().describe(
      'Kind of the bounce; null: its email has not bounced, or its events are deleted.',
    ),
    sent_at: z.date().nullable().describe('When a mail server accepted its email.'),
    opened_at: z.date().nullable().describe('First open.'),
    clicked_at: z.date().nullable().describe('First click.'),
    replied_at: z.date().nullable().describe('First reply.'),
    unsubscribed_at: z.date().nullable().describe('When the contact unsubscribed with a link of the campaign.'),
  })
  .meta({ id: 'CampaignRecipient' })
export type CampaignRecipient = z.infer<typeof CampaignRecipient>

/**
 * If the recipient unsubscribed after the email was stored, its delivery has the reason
 * (flows/delivery/decide_outcome.ts).
 */
const reason = sql.fragment`
  CASE WHEN e.status = 'suppressed' THEN (
    SELECT CASE d.reason
      WHEN unsent_reason(true, false) THEN 'reserved_domain' WHEN unsent_reason(false, true) THEN 'not_subscribed_to_topic'
      WHEN 'The recipient has unsubscribed.' THEN CASE WHEN c.id IS NULL THEN 'deleted' ELSE 'unsubscribed' END
      ELSE 'suppressed' END
    FROM deliveries d WHERE d.account_id = e.account_id AND d.email_id = e.id LIMIT 1
  ) ELSE r.reason END`

const clickedLinks = sql.fragment`
  CASE WHEN r.clicks = 0 THEN '[]' ELSE (
    SELECT coalesce(jsonb_agg(jsonb_build_object('url', k.url, 'clicks', k.clicks) ORDER BY k.clicks DESC, k.url), '[]')
    FROM (
      SELECT h.url, count(*) AS clicks FROM deliveries d
      JOIN tracking_hits h ON h.account_id = d.account_id AND h.delivery_id = d.id
      WHERE d.account_id = e.account_id AND d.email_id = e.id AND h.type = 'click' AND is_by_person(h.class)
      GROUP BY h.url
    ) k
  ) END`

/** Lists the recipients of a run. */
export async function listRecipients(
  db: Queryable,
  campaign: RunRef,
  filter: RecipientFilter,
  position: Position,
): Promise<Page<CampaignRecipient>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(CampaignRecipient)`
      SELECT l.* FROM (
        SELECT 'campaign_recipient' AS object, r.contact_id AS id, c.id AS contact_id,
          coalesce(r.email, c.email, '') AS email,
          CASE r.state WHEN 'p' THEN 'pending' WHEN 'm' THEN 'mailed' WHEN 'x' THEN 'excluded' ELSE 'canceled' END AS state,
          ${reason} AS reason, r.email_id, e.status, r.opens, r.clicks, ${countOf(filter)} AS count, ${clickedLinks} AS clicked_links,
          ${bounceType} AS bounce_type, e.sent_at, r.first_opened_at AS opened_at,
          r.first_clicked_at AS clicked_at, r.replied_at, r.unsubscribed_at
        FROM campaign_recipients r
        LEFT JOIN contacts c ON c.account_id = r.account_id AND c.id = r.contact_id
        LEFT JOIN emails e ON e.account_id = r.account_id AND e.id = r.email_id
        WHERE r.account_id = ${campaign.account_id} AND r.campaign_id = ${campaign.id}
          AND r.run = ${runOf(campaign)} AND ${conditionsOf(campaign, filter)}
      ) l
      WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

function countOf({ type }: RecipientFilter): FragmentSqlToken {
  if (type === 'opened') return sql.fragment`r.opens`
  return type === 'clicked' ? sql.fragment`r.clicks` : sql.fragment`NULL`
}
