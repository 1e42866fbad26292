import type { FragmentSqlToken } from '@slonik/sql-tag'
import type { Ids } from '#sql/page.ts'
import { sql } from '#sql/pool.ts'

/** Emails of this campaign, of any, or of none. `impossible`: of one and of none. */
export type OfCampaign = { id: string } | 'any' | 'none' | 'impossible' | undefined

/**
 * The query of the emails of a campaign, or of all campaigns, that a search finds. They have an index of their own, in the order
 * of the list; what else is asked is asked of each of them. Null: no campaign is asked for.
 */
export function campaignIds(account_id: string, campaign: OfCampaign, search: string): Ids | null {
  if (campaign === undefined || typeof campaign === 'string')
    return campaign === 'any' ? anyIds(account_id, search) : null
  return (where, order, limit) => sql.fragment`
    SELECT id FROM (${emailsOf(account_id, sql.fragment`${campaign.id}`, search, order, limit, where)}) e
  `
}

/** The nearest of each campaign, and the nearest of these. */
function anyIds(account_id: string, search: string): Ids {
  return (where, order, limit) => sql.fragment`
    SELECT e.id FROM campaigns g
    CROSS JOIN LATERAL (${emailsOf(account_id, sql.fragment`g.id`, search, order, limit, where)}) e
    WHERE g.account_id = ${account_id} AND g.started_at IS NOT NULL ORDER BY e.${order} LIMIT ${limit}
  `
}

function emailsOf(
  account_id: string,
  campaign_id: FragmentSqlToken,
  search: string,
  order: FragmentSqlToken,
  limit: number,
  where: FragmentSqlToken,
): FragmentSqlToken {
  return sql.fragment`
    SELECT id FROM emails e CROSS JOIN json_populate_record(NULL::email_search, ${search}::json) AS f
    WHERE e.account_id = ${account_id} AND e.campaign_id = ${campaign_id} AND is_found(e, f::email_search)
      AND ${where} ORDER BY e.${order} LIMIT ${limit}
  `
}
