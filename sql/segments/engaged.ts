import type { FragmentSqlToken } from '@slonik/sql-tag'
import type { EngagementEvent, EngagementScope } from '#lib/segments/conditions.ts'
import { sql } from '#sql/pool.ts'
import type { PlanHint } from './plan_hints.ts'

/**
 * Returns a condition on `contacts c`: engagement with campaigns. `not_opened` and `not_clicked` match only contacts
 * who were sent a campaign (within the given days, or that many).
 */
export function engaged(event: EngagementEvent, scope: EngagementScope, hint: PlanHint): FragmentSqlToken {
  const isOpen = event.endsWith('opened')
  const isNot = event.startsWith('not_')
  if ('campaign_id' in scope) return withCampaign(scope.campaign_id, { isOpen, isNot, hint })
  const [last_at, count] = isOpen
    ? [sql.fragment`e.last_opened_at`, sql.fragment`e.opened_count`]
    : [sql.fragment`e.last_clicked_at`, sql.fragment`e.clicked_count`]
  if ('count' in scope) {
    return overall(
      isNot ? sql.fragment`e.sent_count >= ${scope.count} AND ${count} = 0` : sql.fragment`${count} >= ${scope.count}`,
      hint,
    )
  }
  const since = sql.fragment`now() - make_interval(hours => ${scope.within_days * 24})`
  return overall(
    isNot
      ? sql.fragment`e.last_sent_at >= ${since} AND (${last_at} >= ${since}) IS NOT TRUE`
      : sql.fragment`${last_at} >= ${since}`,
    hint,
  )
}

/** Returns the condition for one campaign, in any of its runs. */
function withCampaign(
  campaign_id: string,
  { isOpen, isNot, hint }: { isOpen: boolean; isNot: boolean; hint: PlanHint },
): FragmentSqlToken {
  const did = isOpen ? sql.fragment`r.first_opened_at IS NOT NULL` : sql.fragment`r.first_clicked_at IS NOT NULL`
  const some = (state: FragmentSqlToken) => sql.fragment`EXISTS (
    SELECT FROM campaign_recipients r
    WHERE r.account_id = c.account_id AND r.campaign_id = ${campaign_id} AND r.contact_id = c.id AND ${state} ${hint})`
  return isNot ? sql.fragment`(${some(sql.fragment`r.sent_at IS NOT NULL`)} AND NOT ${some(did)})` : some(did)
}

function overall(state: FragmentSqlToken, hint: PlanHint): FragmentSqlToken {
  return sql.fragment`EXISTS (
    SELECT FROM contact_engagement e WHERE e.account_id = c.account_id AND e.contact_id = c.id AND ${state} ${hint})`
}
