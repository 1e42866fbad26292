import { z } from 'zod'
import { type Dimension, FIGURES } from '#lib/sending/metrics/names.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { type Fragment, inRange, type Period, type Range } from './ranges.ts'

export type MetricsQuery = {
  account_id: string
  range: Range
  dimensions: Dimension[]
  /** Periods for the dimension `period`. */
  periods: Period[]
  /** Only figures of these. */
  domain_ids: string[] | undefined
  campaign_ids: string[] | undefined
  /** Only figures of these emails, computed from their events. */
  email_ids: string[] | undefined
}

const Row = z.object({
  /** Index in `periods`; -1 if `period` is not requested as a dimension. */
  period: z.int(),
  domain_id: z.string().nullable(),
  domain_name: z.string().nullable(),
  email_id: z.string().nullable(),
  campaign_id: z.string().nullable(),
  campaign_name: z.string().nullable(),
  ...(Object.fromEntries(FIGURES.map(name => [name, z.int()])) as Record<(typeof FIGURES)[number], z.ZodInt>),
})
export type MetricsRow = z.infer<typeof Row>

/**
 * Returns the figures of a range, at most `limit` rows: one per combination of the dimensions that has figures. An id or
 * name is null if its dimension is not requested, if its row was deleted, or if the email has no campaign.
 */
export async function readMetrics(db: Queryable, query: MetricsQuery, limit: number): Promise<MetricsRow[]> {
  const has = (dimension: Dimension) => query.dimensions.includes(dimension)
  const none = sql.fragment`NULL::uuid`
  const times = query.periods.map(({ since }) => since.toISOString())
  return db.any(sql.type(Row)`
    WITH summed AS (
      SELECT ${has('period') ? sql.fragment`width_bucket(c.quarter, ${sql.array(times, 'timestamptz')})` : sql.fragment`0`} - 1
          AS period,
        ${has('domain') ? sql.fragment`nullif(c.domain_id, nil_id())` : none} AS domain_id,
        ${has('email') ? sql.fragment`c.email_id` : none} AS email_id,
        ${has('broadcast') ? sql.fragment`nullif(c.campaign_id, nil_id())` : none} AS campaign_id,
        ${SUMS}
      FROM (${query.email_ids ? ofEmails(query, query.email_ids) : ofCounters(query)}) c
      GROUP BY 1, 2, 3, 4
    )
    SELECT s.period, s.domain_id, d.name AS domain_name, s.email_id, s.campaign_id, g.name AS campaign_name,
      ${join(column => sql.fragment`s.${column}`)}
    FROM summed s
    LEFT JOIN domains d ON d.account_id = ${query.account_id} AND d.id = s.domain_id
    LEFT JOIN campaigns g ON g.account_id = ${query.account_id} AND g.id = s.campaign_id
    ORDER BY s.period, d.name, s.campaign_id, s.email_id LIMIT ${limit}
  `)
}

const SUMS = join(column => sql.fragment`sum(c.${column}) AS ${column}`)

/** Joins one fragment per figure. */
function join(write: (column: ReturnType<typeof sql.identifier>, name: string) => Fragment) {
  const parts = FIGURES.map(name => write(sql.identifier([name]), name))
  return sql.join(parts, sql.fragment`, `)
}

function ofCounters(query: MetricsQuery) {
  return sql.fragment`
    SELECT c.* FROM email_metrics c
    WHERE c.account_id = ${query.account_id} AND ${inRange(sql.fragment`c.quarter`, query.range)} AND ${isWanted(query)}
  `
}

function ofEmails(query: MetricsQuery, ids: string[]) {
  const counts = join(
    (column, name) => sql.fragment`CASE c.name WHEN ${sql.literalValue(name)} THEN c.by ELSE 0 END AS ${column}`,
  )
  return sql.fragment`
    SELECT quarter_of(c.at) AS quarter, c.domain_id, c.email_id, c.campaign_id, ${counts}
    FROM metrics_of_emails(${query.account_id}, ${sql.array(ids, 'uuid')}) AS c
    WHERE ${inRange(sql.fragment`quarter_of(c.at)`, query.range)} AND ${isWanted(query)}
  `
}

function isWanted({ domain_ids, campaign_ids }: MetricsQuery) {
  const among = (column: Fragment, ids: string[] | undefined) =>
    ids ? sql.fragment`${column} = ANY (${sql.array(ids, 'uuid')})` : sql.fragment`true`
  return sql.fragment`
    ${among(sql.fragment`c.domain_id`, domain_ids)} AND ${among(sql.fragment`c.campaign_id`, campaign_ids)}
  `
}
