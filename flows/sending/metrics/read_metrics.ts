import { ApiError } from '#lib/errors.ts'
import type { Dimension, Figures, Granularity, Metric } from '#lib/sending/metrics/names.ts'
import { addFigures, metricsOf } from '#lib/sending/metrics/rates.ts'
import type { Queryable } from '#sql/pool.ts'
import { type Edge, listPeriods, type Period, RETENTION_DAYS, resolveRange } from '#sql/sending/metrics/ranges.ts'
import { type MetricsRow, readMetrics } from '#sql/sending/metrics/read_metrics.ts'
import type { DataRow, EmailMetrics } from './email_metrics.ts'

/** Maximum number of rows of an answer. */
const MAX_ROWS = 10_000

const NOT_KEPT = `\`end_date\` must be in the last ${RETENTION_DAYS} days: older figures are not kept.`

export type AskedMetrics = {
  start: Edge | undefined
  end: Edge | undefined
  timezone: string
  granularity: Granularity
  metrics: Metric[]
  dimensions: Dimension[]
  domain_ids: string[] | undefined
  email_ids: string[] | undefined
  campaign_ids: string[] | undefined
}

/** @throws {ApiError} 422 if the range ends before it begins, or is too old, or the answer would be too long */
export async function answerMetrics(db: Queryable, account_id: string, asked: AskedMetrics): Promise<EmailMetrics> {
  const { metrics, dimensions, granularity } = asked
  const range = await resolveRange(db, asked)
  if (!range) throw new ApiError('validation_error', '`timezone` is a timezone that the database does not know.')
  if (!range.is_kept) throw new ApiError('validation_error', NOT_KEPT)
  if (range.start > range.end) throw new ApiError('validation_error', '`start_date` must not be after `end_date`.')
  const periods = dimensions.includes('period') ? await listPeriods(db, { ...asked, range }) : []
  const query = { ...asked, account_id, range, periods }
  const rows = await readMetrics(db, query, MAX_ROWS + 1)
  if (rows.length > MAX_ROWS) {
    const limit = MAX_ROWS.toLocaleString('en')
    const advice = 'Ask for a shorter range, a coarser granularity, fewer dimensions or fewer ids.'
    throw new ApiError('validation_error', `The answer would have more than ${limit} rows. ${advice}`)
  }
  const hasOnlyPeriods = dimensions.length === 1 && periods.length > 0
  const data = hasOnlyPeriods ? fill(rows, periods) : rows
  return {
    object: 'metrics',
    start_date: range.start,
    end_date: range.end,
    metrics,
    dimensions,
    granularity,
    totals: choose(metrics, addFigures(rows)),
    ...(dimensions.length > 0 ? { data: data.map(row => present(metrics, periods, row)) } : {}),
  }
}

type Row = Pick<MetricsRow, 'period'> & Partial<MetricsRow>

/** Adds the periods without events. */
function fill(rows: MetricsRow[], periods: Period[]): Row[] {
  const known = new Map(rows.map(row => [row.period, row]))
  return periods.map((_, period) => known.get(period) ?? { period })
}

function present(names: Metric[], periods: Period[], row: Row): DataRow {
  const { domain_id, domain_name, email_id, campaign_id, campaign_name } = row
  const keys = { domain_id, domain_name, email_id, broadcast_id: campaign_id, broadcast_name: campaign_name }
  const given = Object.entries({ period: periods[row.period]?.name, ...keys })
  return { ...Object.fromEntries(given.filter(([, value]) => typeof value === 'string')), ...choose(names, row) }
}

function choose(names: Metric[], figures: Figures): Partial<Record<Metric, number>> {
  const all = metricsOf(figures)
  return Object.fromEntries(names.map(name => [name, all[name]]))
}
