import { now } from '#lib/clock.ts'
import { attemptedOf } from '#lib/sending/metrics/rates.ts'
import { type Html, html } from '#web/html.ts'
import { bars, columns, percent } from '#web/layout/charts.ts'
import { count, facts } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'

type Figures = {
  sent: number
  delivered: number
  bounced: number
  complained: number
  failed: number
  suppressed: number
}
type Answer = { totals: Figures; data?: (Figures & { period: string })[] }

const DAY_MS = 86_400_000
const DAYS = 14
const METRICS = 'sent,delivered,bounced,complained,failed,suppressed'

/** Numbers of emails in the last 24 hours, by outcome. */
export async function tiles(visit: Visit): Promise<Html> {
  const { totals } = await figures(visit, 1, {})
  const { sent, delivered, bounced, complained } = totals
  const attempted = attemptedOf(totals)
  const share = (part: number, whole: number) => html`${count(part)} <small>${percent(part, whole)}</small>`
  return html`<h2>Last 24 hours</h2>
<ul class="tiles">
<li>Sent <strong>${count(sent)}</strong></li>
<li>Delivered <strong>${share(delivered, attempted)}</strong></li>
<li>Bounced <strong>${share(bounced, attempted)}</strong></li>
<li>Complaints <strong>${share(complained, delivered)}</strong></li>
</ul>`
}

/** A chart of the last 14 days, by outcome. */
export async function chart(visit: Visit): Promise<Html> {
  const { data = [] } = await figures(visit, DAYS, { dimensions: 'period', granularity: 'daily' })
  return columns({
    caption: `Recipients in the last ${DAYS} days, by outcome`,
    series: [
      { name: 'delivered', tone: 'good' },
      { name: 'bounced', tone: 'bad' },
      { name: 'failed', tone: 'wait' },
      { name: 'suppressed', tone: 'note' },
    ],
    rows: data.map(({ period, delivered, bounced, failed, suppressed }) => ({
      ...{ name: period, values: [delivered, bounced, failed, suppressed] },
    })),
  })
}

export type Quota = { used: number; limit: number | null }

/** Bars for the quotas of emails; text for those without a limit. */
export function quotas(of: Record<string, Quota>): Html {
  const all = Object.entries(of)
  const rows = all.flatMap(([name, { used: value, limit }]) =>
    limit === null ? [] : [{ name, value, limit, tone: toneOf(value, limit) }],
  )
  const others = all.filter(([, { limit }]) => limit === null)
  const names = others.map(([name, { used }]) => [`Quota, ${name.toLowerCase()}`, `${count(used)}, no limit`] as const)
  return html`${rows.length > 0 ? bars({ caption: 'Quotas of emails', rows }) : ''}
${names.length > 0 ? facts(names) : ''}`
}

/** From this share of the quota on, its bar looks like a warning. */
const WARNING_SHARE = 0.8

function toneOf(used: number, limit: number): string {
  if (used >= limit) return 'bad'
  return used >= limit * WARNING_SHARE ? 'wait' : 'good'
}

function figures(visit: Visit, days: number, more: Record<string, string>): Promise<Answer> {
  const since = new Date(now().getTime() - (days === 1 ? DAY_MS : (days - 1) * DAY_MS)).toISOString()
  const start_date = days === 1 ? since : since.slice(0, 10)
  return visit.call<Answer>('getEmailMetrics', { query: { start_date, metrics: METRICS, ...more } })
}
