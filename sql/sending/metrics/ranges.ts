import { z } from 'zod'
import type { Granularity } from '#lib/sending/metrics/names.ts'
import { type Queryable, sql, sqlState } from '#sql/pool.ts'

/** Days for which figures are kept. */
export const RETENTION_DAYS = 400

/** An ISO 8601 date, meaning its midnight in a timezone, or a time. */
export type Edge = { day: string } | { at: Date }

const Range = z.object({ start: z.date(), end: z.date() })
export type Range = z.infer<typeof Range>

/** `is_kept`: some of the figures until its end may still exist. */
const ResolvedRange = Range.extend({ is_kept: z.boolean() })

/** SQLSTATE of a timezone that Postgres does not know. */
const INVALID_PARAMETER = '22023'

/**
 * Returns the range between two edges, without parts that are no longer kept or in the future. `end` defaults to now,
 * `start` to 6 days before it. Null: Postgres does not know the timezone.
 */
export async function resolveRange(
  db: Queryable,
  { start, end, timezone }: { start: Edge | undefined; end: Edge | undefined; timezone: string },
): Promise<z.infer<typeof ResolvedRange> | null> {
  const edge = (given: Edge | undefined) => {
    if (!given) return sql.fragment`NULL::timestamptz`
    if ('day' in given) return sql.fragment`(${sinceEpoch(given.day)}::date::timestamp AT TIME ZONE ${timezone})`
    return sql.fragment`${sinceEpoch(given.at.toISOString())}::timestamptz`
  }
  try {
    return await db.one(sql.type(ResolvedRange)`
      SELECT greatest(coalesce(${edge(start)}, e.at - interval '144 hours'), e.oldest) AS start, e.at AS end,
        e.at > e.oldest AS is_kept
      FROM (
        SELECT least(coalesce(${edge(end)}, now()), now()) AS at, now() - make_interval(days => ${RETENTION_DAYS}) AS oldest
      ) e
      -- Asked here, since edges need no timezone if they are times.
      WHERE now() AT TIME ZONE ${timezone} IS NOT NULL
    `)
  } catch (error) {
    if (sqlState(error) === INVALID_PARAMETER) return null
    throw error
  }
}

/** Clips a time to 1970: nothing older is kept, and Postgres writes years before 1 in another format. */
function sinceEpoch(iso: string): string {
  return iso < '1970' ? '1970-01-01T00:00:00Z' : iso
}

export type Periods = { range: Range; timezone: string; granularity: Granularity }

const UNITS: Record<Granularity, string> = { hourly: 'hour', daily: 'day', weekly: 'week', monthly: 'month' }

export type Fragment = ReturnType<typeof sql.fragment>

/** Returns the condition that a quarter of an hour is at least partly in a range. */
export function inRange(quarter: Fragment, { start, end }: Range) {
  return sql.fragment`
    ${quarter} >= quarter_of(${start.toISOString()}::timestamptz) AND ${quarter} < ${end.toISOString()}::timestamptz
  `
}

const Period = z.object({ name: z.string(), since: z.date() })
export type Period = z.infer<typeof Period>

/**
 * Returns the periods of a range in order. `2026-07-01` names a day, a week that begins on that Monday, or a month. An
 * hour is `2026-07-01T09:00:00+02:00`, since one hour of a night in autumn occurs twice. `since`: when the part of the
 * period that is in the range begins.
 */
export async function listPeriods(db: Queryable, { range, timezone, granularity }: Periods): Promise<Period[]> {
  const hour = sql.fragment`
    to_char(p.began, 'YYYY-MM-DD"T"HH24:MI:SS') || CASE WHEN p.ahead < '0' THEN '-' ELSE '+' END
      || to_char(greatest(p.ahead, -p.ahead), 'HH24:MI')
  `
  const day = sql.fragment`to_char(p.began, 'YYYY-MM-DD')`
  const isHourly = granularity === 'hourly'
  return db.any(sql.type(Period)`
    SELECT ${isHourly ? hour : day} AS name, p.since FROM (
      SELECT date_trunc(${UNITS[granularity]}, l.local) AS began, min(l.quarter) AS since,
        ${isHourly ? sql.fragment`l.local - (l.quarter AT TIME ZONE 'UTC')` : sql.fragment`NULL::interval`} AS ahead
      FROM (
        SELECT q.quarter, q.quarter AT TIME ZONE ${timezone} AS local
        FROM generate_series(quarter_of(${range.start.toISOString()}::timestamptz),
          ${range.end.toISOString()}::timestamptz - interval '1 microsecond', interval '15 minutes') AS q(quarter)
      ) l
      GROUP BY began, ahead
    ) p
    ORDER BY p.since
  `)
}
