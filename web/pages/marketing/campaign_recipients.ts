import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type CampaignRecipient, RecipientState, RecipientType } from '#sql/campaigns/report/recipients.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { filters, hidden } from '#web/layout/form.ts'
import { type Column, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { badge, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<CampaignRecipient>

const any = (names: readonly string[], words: Record<string, string> = {}) => [
  ['', 'any'] as const,
  ...names.map(name => [name, words[name] ?? name] as const),
]

const FILTERS: Field[] = [
  {
    ...{ name: 'state', label: 'State', type: 'select' },
    options: any(RecipientState.options, { excluded: 'left out' }),
  },
  { name: 'type', label: 'What happened', type: 'select', options: any(RecipientType.options) },
  { name: 'email', label: 'Address' },
]

const columns: Column<Row>[] = [
  { title: 'Email', cell: ({ email }) => email || 'deleted' },
  {
    title: 'State',
    cell: ({ state, status }) => badge(status ?? state, state === 'excluded' ? 'left out' : undefined),
  },
  { title: 'Reason', cell: ({ reason }) => reason?.replaceAll('_', ' ') ?? '' },
  {
    title: 'Its email',
    cell: ({ email_id, email }) =>
      email_id ? html`<a href="/emails/${email_id}">Email<span class="hidden"> to ${email}</span></a>` : '',
  },
  { title: 'Sent', cell: ({ sent_at }) => time(sent_at, 'not yet') },
]

/** To whom a campaign went or goes, and who was left out and why; of the newest run, or the one that `?run=` names. */
export const campaignRecipients = recordPage<Wire<Campaign>>(
  '/campaigns/:id/recipients',
  'getCampaign',
  async (found, visit) => {
    const query = listQuery(visit, 'run', ...FILTERS.map(({ name }) => name))
    const list = await visit.ask<List<Row>>('listCampaignRecipients', { params: idOf(visit), query })
    const { run } = visit.query
    return {
      title: `Recipients of ${found.name || found.subject || '(no name)'}`,
      body: html`<p>Contacts who had unsubscribed, or had not subscribed to the topic, when it was sent are not listed.</p>
${filters(visit, visit.ctx.path, FILTERS, run ? hidden('run', run) : html``)}
${table({
  ...{ caption: 'Recipients', columns, rows: list.data, empty: empty('There is no such recipient.') },
  link: ({ contact_id }: Row) => (contact_id ? `/contacts/${contact_id}` : '/contacts'),
})}
${pager(visit, list)}
<p><a href="/campaigns/${found.id}${run ? `?${new URLSearchParams({ run })}` : ''}">The campaign</a></p>`,
    }
  },
)
