import type { CampaignAb } from '#flows/campaigns/ab/read_ab.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Html, html } from '#web/html.ts'
import { bars } from '#web/layout/charts.ts'
import { confirmButton } from '#web/layout/form.ts'
import { table } from '#web/layout/list.ts'
import { count, facts, time } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

const CHOICE = 'It is sent to all recipients who are not in the test. This cannot be undone.'

type Variant = Wire<CampaignAb>['variants'][number]

/** The results of the variants of a campaign, with buttons to choose the winner until there is one. */
export async function abTest(visit: Visit, { id, status }: Wire<Campaign>): Promise<Html> {
  const test = await visit.call<Wire<CampaignAb>>('getCampaignAb', { params: { id } })
  const isOpen = test.status === 'testing' && test.test_percentage < 100 && ['testing', 'paused'].includes(status)
  const metric = test.winner_metric === 'open_rate' ? 'Open rate' : 'Click rate'
  const rows = test.variants.map(one => ({
    ...{ name: `${one.key}: ${one.subject ?? ''}`, tone: one.key === test.winner ? 'good' : 'plain' },
    value: Math.round(one[test.winner_metric] * 1000) / 10,
  }))
  return html`${facts([
    ['Winner', test.winner ?? 'none yet'],
    test.decided_at
      ? ['Decided', html`${time(test.decided_at)} (${test.decided_by ?? ''})`]
      : ['To be decided', time(test.decide_at, 'not scheduled yet')],
    ['Confidence', `${(test.confidence * 100).toFixed(1)}%${test.significant ? '' : ' (not significant)'}`],
  ])}
${bars({ caption: `${metric} by variant`, rows, unit: '%' })}
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
${isOpen ? test.variants.map(({ key }) => confirmButton(visit, `/campaigns/${id}/winner`, `Choose variant ${key}`, CHOICE, { values: { variant: key } })) : ''}`
}
