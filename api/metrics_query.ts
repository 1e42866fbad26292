import { z } from 'zod'
import type { AskedMetrics } from '#flows/sending/metrics/read_metrics.ts'
import { orList } from '#lib/json/requirements.ts'
import { DIMENSIONS, GRANULARITIES, METRICS } from '#lib/sending/metrics/names.ts'
import { moment, refuseWhole } from '#lib/zod_fields.ts'
import type { Edge } from '#sql/sending/metrics/ranges.ts'
import { parameter } from './email_filters.ts'

/** Maximum number of ids of one filter. */
const MAX_IDS = 100

const DATE = 'an ISO 8601 date, which stands for midnight in `timezone`, or a timestamp with an offset'
const listed = (names: readonly string[]) => names.map(name => `\`${name}\``).join(', ')

const edge = parameter(`must be ${DATE}`, readEdge)

const ids = parameter(`must be 1 to ${MAX_IDS} ids, UUIDs separated by commas`, text => {
  const given = split(text).map(id => id.toLowerCase())
  return given.length <= MAX_IDS && given.every(id => z.guid().safeParse(id).success) ? given : null
})

const Query = z.object({
  start_date: edge.describe(`Beginning of the range: ${DATE}. Default: 6 days before the end.`),
  end_date: edge.describe(`End of the range: ${DATE}. Default: now.`),
  timezone: parameter('must be the IANA name of a timezone, such as `Europe/Berlin` or `UTC`', text =>
    isTimezone(text) ? text : null,
  ).describe('Timezone of dates and periods: an IANA name such as `Europe/Berlin`. Default: `UTC`.'),
  granularity: parameter(`must be ${orList(GRANULARITIES)}`, text => findIn(GRANULARITIES, text)).meta({
    enum: GRANULARITIES,
    description: 'Length of a period. Default: `daily`. Weeks begin on Monday.',
  }),
  metrics: listOf(METRICS).describe(`One or several of ${listed(METRICS)}, separated by commas. Default: all.`),
  dimensions: listOf(DIMENSIONS).describe(
    `One or several of ${listed(DIMENSIONS)}, separated by commas, by which \`data\` is broken down. \`email\` needs \`email_id\`.`,
  ),
  domain_id: ids.describe(`Only these domains: up to ${MAX_IDS} ids, separated by commas.`),
  email_id: ids.describe(`Only these emails: up to ${MAX_IDS} ids, separated by commas.`),
  broadcast_id: ids.describe(`Only these campaigns: up to ${MAX_IDS} ids, separated by commas.`),
})

/** The query of GET /emails/metrics. */
export const MetricsQuery = Query.transform((query, context): AskedMetrics => {
  const { metrics = [...METRICS], dimensions = [], email_id, broadcast_id } = query
  const has = { email: dimensions.includes('email'), broadcast: dimensions.includes('broadcast') }
  if ((has.email || email_id) && (has.broadcast || broadcast_id)) {
    const [by, and] = [
      email_id ? '`email_id`' : 'the dimension `email`',
      broadcast_id ? '`broadcast_id`' : 'the dimension `broadcast`',
    ]
    return refuseWhole(context, 'validation_error', `${capitalize(by)} and ${and} cannot be combined.`)
  }
  if (has.email && !email_id) {
    return refuseWhole(
      context,
      'validation_error',
      'The dimension `email` needs `email_id`: the emails that are wanted.',
    )
  }
  return {
    start: query.start_date,
    end: query.end_date,
    timezone: query.timezone ?? 'UTC',
    granularity: query.granularity ?? 'daily',
    metrics,
    dimensions,
    domain_ids: query.domain_id,
    email_ids: email_id,
    campaign_ids: broadcast_id,
  }
})

function listOf<Name extends string>(names: readonly Name[]) {
  return parameter(`must be one or several of ${listed(names)}, separated by commas`, text => {
    const given = split(text).map(name => findIn(names, name))
    return given.every(name => name !== null) ? given : null
  })
}

function findIn<Name extends string>(names: readonly Name[], text: string): Name | null {
  return names.find(name => name === text) ?? null
}

/** Splits a list at its commas, without duplicates. */
function split(text: string): string[] {
  return [...new Set(text.split(',').map(part => part.trim()))]
}

function readEdge(text: string): Edge | null {
  const { data: at } = moment.safeParse(text)
  if (!at) return null
  return z.iso.date().safeParse(text).success ? { day: text } : { at }
}

/** Rejects names without a slash except UTC: Postgres gives some of them, such as EST, another meaning. */
function isTimezone(name: string): boolean {
  if (name === 'UTC') return true
  if (!/^[A-Za-z]\w*\/[\w/+-]+$/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
