import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'
import type { PlanHint } from '#sql/segments/plan_hints.ts'

/** Limits on how often campaigns may reach a contact; null: no limit. */
export type FrequencyCap = { skip_if_mailed_within_hours: number | null; exclude_unengaged_days: number | null }

export function hasCap({ skip_if_mailed_within_hours, exclude_unengaged_days }: FrequencyCap): boolean {
  return skip_if_mailed_within_hours !== null || exclude_unengaged_days !== null
}

/** Statuses of emails that ended without being sent. */
const UNSENT = sql.fragment`('failed', 'bounced', 'suppressed', 'canceled')`

/**
 * Returns an expression on `contacts c`: `mailed_recently`, `unengaged` or null. An email of a campaign counts from
 * when it is stored, unless it ends without being sent. Contacts whose opens are not tracked are never unengaged.
 */
export function cappedFor(cap: FrequencyCap, hint: PlanHint): FragmentSqlToken {
  const { skip_if_mailed_within_hours: hours, exclude_unengaged_days: days } = cap
  if (!hasCap(cap)) return sql.fragment`NULL`
  const last = sql.fragment`greatest(e.last_opened_at, e.last_clicked_at)`
  const isMailed =
    hours === null
      ? sql.fragment`false`
      : sql.fragment`(e.last_email_at > ${since({ hours })} AND EXISTS (
          SELECT FROM emails m WHERE m.account_id = e.account_id AND m.id = e.last_email_id
            AND (m.status NOT IN ${UNSENT} OR ${isOnItsWay(hours, hint)}) ${hint})
          -- Its server may have accepted the last email and reported a failure later.
          OR e.last_sent_at > ${since({ hours })} AND NOT EXISTS (
            SELECT FROM emails m JOIN campaign_recipients r ON r.account_id = m.account_id AND r.campaign_id = m.campaign_id
              AND r.contact_id = e.contact_id AND r.run = m.campaign_run AND r.sent_at = e.last_sent_at
            WHERE m.account_id = e.account_id AND m.id = e.last_email_id AND m.status IN ('failed', 'bounced') ${hint}))`
  const isUnengaged =
    days === null
      ? sql.fragment`false`
      : sql.fragment`(NOT c.do_not_track AND coalesce(e.first_email_at, e.last_sent_at) <= ${since({ days })}
          AND e.last_sent_at > coalesce(${last}, '-infinity') AND (${last} > ${since({ days })}) IS NOT TRUE)`
  return sql.fragment`(
    SELECT CASE WHEN ${isMailed} THEN 'mailed_recently' WHEN ${isUnengaged} THEN 'unengaged' END
    FROM contact_engagement e WHERE e.account_id = c.account_id AND e.contact_id = c.id ${hint})`
}

/**
 * Returns a condition on `contact_engagement e`: an email that was stored before the last one, within the hours, is still to be sent, or
 * is in doubt. Its campaign is being sent, or has ended within the hours.
 */
function isOnItsWay(hours: number, hint: PlanHint): FragmentSqlToken {
  return sql.fragment`EXISTS (
    SELECT FROM campaigns g
    CROSS JOIN LATERAL (
      SELECT r.email_id FROM campaign_recipients r
      WHERE r.account_id = g.account_id AND r.campaign_id = g.id AND r.contact_id = e.contact_id AND r.state = 'm' ${hint}
    ) r
    JOIN emails o ON o.account_id = g.account_id AND o.id = r.email_id
    WHERE g.account_id = e.account_id AND g.domain_id = c.domain_id
      AND (g.status IN ('queued', 'testing', 'paused') OR g.updated_at > ${since({ hours })})
      AND o.created_at > ${since({ hours })} AND o.status NOT IN ${UNSENT} ${hint})`
}

function since({ hours = 0, days = 0 }: { hours?: number; days?: number }): FragmentSqlToken {
  return sql.fragment`now() - make_interval(days => ${days}, hours => ${hours})`
}
