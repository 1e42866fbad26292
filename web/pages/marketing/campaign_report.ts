import type { CampaignStats } from '#flows/campaigns/read_stats.ts'
import { now } from '#lib/clock.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { CampaignLink } from '#sql/campaigns/report/links.ts'
import type { CampaignRun } from '#sql/campaigns/report/runs.ts'
import { type Html, html } from '#web/html.ts'
import { bars, columns, percent } from '#web/layout/charts.ts'
import { type List, table } from '#web/layout/list.ts'
import { badge, count, facts, section, time } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { abTest } from './campaign_ab.ts'
import { activity, type Engagement } from './campaign_people.ts'

type Found = Wire<Campaign>
type Stats = Wire<CampaignStats>
type Link = Wire<CampaignLink>

/** Returns the path of the page that lists the recipients of a figure. */
type LinkTo = (filter: { type?: string }) => string

const HOURS = 48
const SHOWN_LINKS = 10

/** The report of a campaign. For a recurring one, that of its newest run, or of the run in `?run=`. */
export async function report(visit: Visit, found: Found): Promise<Html> {
  const { run } = visit.query
  const query: Record<string, string> = run ? { run } : {}
  const linkTo: LinkTo = filter => `/campaigns/${found.id}/recipients?${new URLSearchParams({ ...query, ...filter })}`
  const request = { params: idOf(visit), query }
  const stats = await visit.call<Stats>('getCampaignStats', request)
  const links = await visit.call<List<Link>>('listCampaignLinks', request)
  const engagement = await visit.call<Engagement>('getCampaignEngagement', request)
  return html`${await runsOf(visit, found)}
${section('Delivery', deliveryChart(stats, linkTo))}
${section('Engagement', html`${engagementChart(stats, linkTo)}${await byHour(visit, found)}`)}
${found.ab_test ? section('A/B test', await abTest(visit, found)) : ''}
${section('Links', linksOf(links.data))}
${section('Activity', activity(engagement))}`
}

async function runsOf(visit: Visit, { id, recurrence }: Found): Promise<Html> {
  if (!recurrence) return html``
  const { data } = await visit.call<List<Wire<CampaignRun>>>('listCampaignRuns', { params: { id } })
  const rows = {
    ...{ caption: 'Runs, newest first', rows: data, empty: html`` },
    link: ({ run }: Wire<CampaignRun>) => `/campaigns/${id}?run=${run}`,
  }
  const columns = [
    { title: 'Run', cell: ({ run }: Wire<CampaignRun>) => run },
    { title: 'Status', cell: ({ status }: Wire<CampaignRun>) => badge(status) },
    { title: 'Started', cell: ({ started_at }: Wire<CampaignRun>) => time(started_at) },
    { title: 'Recipients', cell: ({ recipients_count }: Wire<CampaignRun>) => count(recipients_count) },
  ]
  return section('Runs', table({ ...rows, columns }))
}

function deliveryChart(stats: Stats, linkTo: LinkTo): Html {
  const { recipients, sent } = stats
  const rows = [
    { name: 'delivered', value: stats.delivered, link: linkTo({ type: 'delivered' }), tone: 'good' },
    { name: 'pending', value: stats.pending, tone: 'wait' },
    { name: 'bounced', value: stats.bounced, link: linkTo({ type: 'bounced' }), tone: 'bad' },
    { name: 'failed', value: stats.failed, tone: 'bad' },
    { name: 'suppressed', value: stats.suppressed, link: linkTo({ type: 'suppressed' }), tone: 'note' },
    { name: 'canceled', value: stats.canceled, tone: 'note' },
  ]
  return html`${bars({ caption: `Delivery to ${count(recipients)} recipients`, rows, total: recipients })}
<p><a href="${linkTo({})}">All recipients</a>, <a href="${linkTo({ type: 'suppressed' })}">excluded recipients with reasons</a></p>
${facts([
  ['Bounce rate', percent(stats.bounced, sent)],
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
    caption: `Engagement with ${count(stats.delivered)} delivered emails`,
    rows,
    total: stats.delivered,
  })
}

type Hour = { period: string; opened: number; clicked: number }

async function byHour(visit: Visit, { id, started_at }: Found): Promise<Html> {
  if (!started_at) return html``
  const end = new Date(Math.min(Date.parse(started_at) + HOURS * 3_600_000, now().getTime()))
  const { data } = await visit.call<{ data: Hour[] }>('getEmailMetrics', {
    query: {
      ...{ start_date: started_at, end_date: end.toISOString(), granularity: 'hourly', dimensions: 'period' },
      ...{ metrics: 'opened,clicked', broadcast_id: id },
    },
  })
  return columns({
    caption: `Opens and clicks by hour, in the first ${HOURS} hours`,
    series: [
      { name: 'opens', tone: 'good' },
      { name: 'clicks', tone: 'wait' },
    ],
    rows: data.map(({ period, opened, clicked }) => ({
      name: period.slice(0, 16).replace('T', ' '),
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
