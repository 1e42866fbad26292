import type { FragmentSqlToken } from '@slonik/sql-tag'
import type { Ids } from '#sql/page.ts'
import { sql } from '#sql/pool.ts'

/**
 * Emails of this campaign, of any campaign, of any automation, or of neither. `impossible`: two of these are required
 * at once.
 */
export type OfCampaign = { id: string } | 'any' | 'automations' | 'none' | 'impossible' | undefined

/**
 * Returns the query of the emails of a campaign, of all campaigns or of all automations that a search finds. These have
 * their own indexes in the order of the list; all other filters are applied to each email. Null: none of these is
 * requested.
 */
export function campaignIds(account_id: string, campaign: OfCampaign, search: string): Ids | null {
  if (campaign === 'any') {
    const parents = sql.fragment`campaigns g WHERE g.account_id = ${account_id} AND g.started_at IS NOT NULL`
    return anyIds(account_id, { parents, isOf: sql.fragment`e.campaign_id = g.id` }, search)
  }
  if (campaign === 'automations') {
    const parents = sql.fragment`automations g WHERE g.account_id = ${account_id}`
    return anyIds(account_id, { parents, isOf: sql.fragment`e.automation_id = g.id` }, search)
  }
  if (campaign === undefined || typeof campaign === 'string') return null
  const isOf = sql.fragment`e.campaign_id = ${campaign.id}`
  return (where, order, limit) => sql.fragment`
    SELECT id FROM (${emailsOf(account_id, isOf, search, order, limit, where)}) e
  `
}

type Parents = { parents: FragmentSqlToken; isOf: FragmentSqlToken }

/** Selects the nearest emails of each campaign or automation, and the nearest of these. */
function anyIds(account_id: string, { parents, isOf }: Parents, search: string): Ids {
  return (where, order, limit) => sql.fragment`
    SELECT e.id FROM (SELECT id FROM ${parents}) g
    CROSS JOIN LATERAL (${emailsOf(account_id, isOf, search, order, limit, where)}) e
    ORDER BY e.${order} LIMIT ${limit}
  `
}

/**
 * Hides the search in a CASE: Postgres would expect it to find next to nothing, and read and sort all emails of the campaign
 * rather than walk their index to the end of the page.
 */
function emailsOf(
  account_id: string,
  isOf: FragmentSqlToken,
  search: string,
  order: FragmentSqlToken,
  limit: number,
  where: FragmentSqlToken,
): FragmentSqlToken {
  return sql.fragment`
    SELECT id FROM emails e CROSS JOIN json_populate_record(NULL::email_search, ${search}::json) AS f
    WHERE e.account_id = ${account_id} AND ${isOf} AND CASE WHEN is_found(e, f::email_search) THEN true END
      AND ${where} ORDER BY e.${order} LIMIT ${limit}
  `
}
