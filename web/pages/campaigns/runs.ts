import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { CampaignRun } from '#sql/campaigns/report/runs.ts'
import { type Html, html } from '#web/html.ts'
import { type List, listQuery, pager, table } from '#web/layout/list.ts'
import { badge, count, section, time } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Run = Wire<CampaignRun>

/** Lists the runs of a recurring campaign. */
export async function runsOf(visit: Visit, { id }: Wire<Campaign>): Promise<Html> {
  const list = await visit.call<List<Run>>('listCampaignRuns', { params: idOf(visit), query: listQuery(visit) })
  if (list.data.length === 0) return html``
  const rows = {
    ...{ caption: 'Runs, newest first', rows: list.data, empty: html`` },
    link: ({ run }: Run) => `/campaigns/${id}?run=${run}`,
  }
  const columns = [
    { title: 'Run', cell: ({ run }: Run) => run },
    { title: 'Status', cell: ({ status }: Run) => badge(status) },
    { title: 'Started', cell: ({ started_at }: Run) => time(started_at) },
    { title: 'Recipients', cell: ({ recipients_count }: Run) => count(recipients_count) },
  ]
  return section('Runs', html`${table({ ...rows, columns })}${pager(visit, list)}`)
}

/** Returns when the shown run began. `?run=` may name any run, not only those of the first page. */
export async function startOf(visit: Visit, found: Wire<Campaign>): Promise<string | null> {
  const { run } = visit.query
  if (!run) return found.started_at
  const query = { after: String(Number(run) + 1), limit: '1' }
  const { data } = await visit.call<List<Run>>('listCampaignRuns', { params: idOf(visit), query })
  return data[0]?.started_at ?? null
}
