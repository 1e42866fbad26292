import type { CampaignStats } from '#flows/campaigns/read_stats.ts'
import { now } from '#lib/clock.ts'
import { attemptedOf } from '#lib/sending/metrics/rates.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { CampaignLink } from '#sql/campaigns/report/links.ts'
import { RETENTION_DAYS } from '#sql/sending/metrics/ranges.ts'
import { type Html, html } from '#web/html.ts'
import { bars, columns, percent } from '#web/layout/charts.ts'
import { type List, table } from '#web/layout/list.ts'
import { count, counted, facts, section } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { abTest } from './ab.ts'
import { activity, type Engagement } from './people.ts'
import { runsOf, startOf } from './runs.ts'
import { unsentEmails } from './unsent.ts'

type Found = Wire<Campaign>
type Stats = Wire<CampaignStats>
type Link = Wire<CampaignLink>

/** Returns the path of the page that lists the recipients of a figure. */
type LinkTo = (filter: { type?: string }) => string

const HOURS = 48
const SHOWN_LINKS = 10

/** The report of a campaign. For a recurring one, that of its newest run, or of the run in `?run=`. */
export async function report(visit: Visit, found: Found): Promise<Html> {
  if (found.status === 'scheduled' && !found.started_at)
    return html`<p>It is not sent yet. To change it, cancel it: it becomes a draft again.</p>`
  const { run } = visit.query
  const query: Record<string, string> = run ? { run } : {}
  const linkTo: LinkTo = filter => `/campaigns/${found.id}/recipients?${new URLSearchParams({ ...query, ...filter })}`
  const request = { params: idOf(visit), query }
  const stats = await visit.call<Stats>('getCampaignStats', request)
  const links = await visit.call<List<Link>>('listCampaignLinks', request)
  const engagement = await visit.call<Engagement>('getCampaignEngagement', request)
  const started_at = await startOf(visit, found)
  return html`${found.recurrence ? await runsOf(visit, found) : ''}
${section('Delivery', html`${deliveryChart(stats, linkTo)}${unsentEmails(visit, found, stats)}`)}
${section('Engagement', html`${engagementChart(stats, linkTo)}${await byHour(visit, { ...found, started_at })}`)}
${found.ab_test ? section('A/B test', await abTest(visit, found)) : ''}
${section('Links', linksOf(links.data))}
${section('Activity', activity(engagement))}`
}

function deliveryChart(stats: Stats, linkTo: LinkTo): Html {
  const { recipients } = stats
  const rows = [
    { name: 'delivered', value: stats.delivered, link: linkTo({ type: 'delivered' }), tone: 'good' },
    { name: 'pending', value: stats.pending, tone: 'wait' },
    { name: 'bounced', value: stats.bounced, link: linkTo({ type: 'bounced' }), tone: 'bad' },
    { name: 'failed', value: stats.failed, tone: 'bad' },
    { name: 'suppressed', value: stats.suppressed, link: linkTo({ type: 'suppressed' }), tone: 'note' },
    { name: 'canceled', value: stats.canceled, tone: 'note' },
  ]
  return html`${bars({ caption: `Delivery to ${counted(recipients, 'recipient')}`, rows, total: recipients })}
<p><a href="${linkTo({})}">All recipients</a>, <a href="${linkTo({ type: 'suppressed' })}">excluded recipients with reasons</a></p>
${facts([
  ['Bounce rate', percent(stats.bounced, attemptedOf(stats))],
  ['Complaints', `${count(stats.complained)} (${percent(stats.complained, stats.delivered)})`],
  ['In doubt', stats.in_doubt > 0 ? count(stats.in_doubt) : null],
])}`
}

function engagementChart(stats: Stats, linkTo: LinkTo): Html {
  const rows = [
    { name: 'opened', value: stats.unique_opened, link: linkTo({ type: 'opened' }), tone: 'good' },
    { name: 'clicked', value: stats.unique_clicked, link: linkTo({ type: 'clicked' }), tone: 'good' },
    { name: 'replied', value: stats.replied, tone: 'good' },
    { name: 'unsubscribed', value: stats.unsubscribed, link: linkTo({ type: 'unsubscribed' }), tone: 'note' },
    { name: 'opened by machines only', value: stats.machine_opened, tone: 'plain' },
    { name: 'opened by Apple Mail only', value: stats.mpp_opened, tone: 'plain' },
    { name: 'clicked by machines only', value: stats.machine_clicked, tone: 'plain' },
  ]
  return bars({
    caption: `Engagement with ${counted(stats.delivered, 'delivered email')}`,
    rows,
    total: stats.delivered,
  })
}

type Hour = { period: string; opened: number; clicked: number }

/** Counts what happened in these hours to emails of all runs: figures by hour are not kept for each run. */
async function byHour(visit: Visit, { id, started_at, recurrence }: Found): Promise<Html> {
  if (!started_at) return html``
  const end = Date.parse(started_at) + HOURS * 3_600_000
  if (end <= now().getTime() - RETENTION_DAYS * 24 * 3_600_000) {
    return html`<p>Opens and clicks by hour are not kept for more than ${RETENTION_DAYS} days.</p>`
  }
  const { data } = await visit.call<{ data: Hour[] }>('getEmailMetrics', {
    query: {
      ...{ start_date: started_at, end_date: new Date(end).toISOString(), granularity: 'hourly', dimensions: 'period' },
      ...{ metrics: 'opened,clicked', broadcast_id: id },
    },
  })
  return columns({
    caption: `Opens and clicks by hour, in the first ${HOURS} hours${recurrence ? ', of emails of all runs' : ''}`,
    series: [
      { name: 'opens', tone: 'good' },
      { name: 'clicks', tone: 'wait' },
    ],
    rows: data.map(({ period, opened, clicked }) => ({
      name: `${period.slice(0, 16).replace('T', ' ')} UTC`,
      values: [opened, clicked],
    })),
  })
}

function linksOf(links: Link[]): Html {
  if (links.length === 0) return html`<p>The campaign has no tracked links.</p>`
  const rows = links
    .slice(0, SHOWN_LINKS)
    .map(({ url, unique_clicks }) => ({ name: url, value: unique_clicks, tone: 'good' }))
  return html`${bars({ caption: 'Recipients who clicked, by link', rows })}
${table({
  ...{ caption: 'Links, most clicked first', rows: links, empty: html`` },
  columns: [
    { title: 'Link', cell: ({ url }: Link) => url },
    { title: 'Clicks', cell: ({ clicks }: Link) => count(clicks) },
    { title: 'Recipients', cell: ({ unique_clicks }: Link) => count(unique_clicks) },
  ],
})}`
}
