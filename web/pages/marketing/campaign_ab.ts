import type { CampaignAb } from '#flows/campaigns/ab/read_ab.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Html, html } from '#web/html.ts'
import { bars } from '#web/layout/charts.ts'
import { button } from '#web/layout/form.ts'
import { table } from '#web/layout/list.ts'
import { count, facts, time } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Variant = Wire<CampaignAb>['variants'][number]

/** How the variants of a campaign do; while there is no winner, buttons to choose one. */
export async function abTest(visit: Visit, { id, status }: Wire<Campaign>): Promise<Html> {
  const test = await visit.ask<Wire<CampaignAb>>('getCampaignAb', { params: { id } })
  const isOpen = test.winner === null && ['testing', 'queued', 'paused'].includes(status)
  const metric = test.winner_metric === 'open_rate' ? 'open rate' : 'click rate'
  const rows = test.variants.map(one => ({
    ...{ name: `${one.key}: ${one.subject ?? ''}`, tone: one.key === test.winner ? 'good' : 'plain' },
    value: Math.round(one[test.winner_metric] * 1000) / 10,
  }))
  return html`${facts([
    ['Winner', test.winner ?? 'none yet'],
    [
      'Chosen',
      test.decided_at ? html`${time(test.decided_at)} (${test.decided_by ?? ''})` : time(test.decide_at, 'later'),
    ],
    ['Confidence', `${(test.confidence * 100).toFixed(1)} %${test.significant ? '' : ', a guess'}`],
  ])}
${bars({ caption: `The ${metric} of each variant`, rows, unit: ' %' })}
${table({
  ...{ caption: 'Variants', rows: test.variants, empty: html`` },
  columns: [
    { title: 'Variant', cell: ({ key }: Variant) => key },
    { title: 'Sent', cell: ({ sent }: Variant) => count(sent) },
    { title: 'Delivered', cell: ({ delivered }: Variant) => count(delivered) },
    { title: 'Opened', cell: ({ unique_opened }: Variant) => count(unique_opened) },
    { title: 'Clicked', cell: ({ unique_clicked }: Variant) => count(unique_clicked) },
  ],
})}
${isOpen ? test.variants.map(({ key }) => button(visit, `/campaigns/${id}/winner`, `Choose ${key}`, { values: { variant: key } })) : ''}`
}
