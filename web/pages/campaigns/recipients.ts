import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { RecipientState, RecipientType } from '#sql/campaigns/report/recipient_filter.ts'
import type { CampaignRecipient } from '#sql/campaigns/report/recipients.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { filters, hidden } from '#web/layout/form.ts'
import { type Column, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { emailBadge, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<CampaignRecipient>

const withAll = (names: readonly string[]) => [['', 'all'] as const, ...names.map(name => [name, name] as const)]

const FILTERS: Field[] = [
  {
    ...{ name: 'state', label: 'Status', type: 'select' },
    options: withAll(RecipientState.options),
  },
  { name: 'type', label: 'Event', type: 'select', options: withAll(RecipientType.options) },
  { name: 'email', label: 'Email address' },
]

const columns: Column<Row>[] = [
  { title: 'Email', cell: ({ email }) => unicodeDomain(email) || 'deleted' },
  {
    title: 'Status',
    cell: ({ state, status }) => emailBadge(state === 'excluded' ? state : (status ?? state)),
  },
  { title: 'Reason', cell: ({ reason }) => reason?.replaceAll('_', ' ') ?? '' },
  {
    title: 'Message',
    cell: ({ email_id, email }) =>
      email_id
        ? html`<a href="/emails/${email_id}">View<span class="hidden"> email to ${unicodeDomain(email)}</span></a>`
        : '',
  },
  { title: 'Sent', cell: ({ sent_at }) => time(sent_at, 'not yet') },
]

/** Lists the recipients of a campaign and the excluded contacts with reasons, of the newest run or of `?run=`. */
export const campaignRecipients = recordPage<Wire<Campaign>>(
  '/campaigns/:id/recipients',
  'getCampaign',
  async (found, visit) => {
    const query = listQuery(visit, 'run', ...FILTERS.map(({ name }) => name))
    const list = await visit.call<List<Row>>('listCampaignRecipients', { params: idOf(visit), query })
    const { run } = visit.query
    return {
      title: `Recipients of ${found.name || found.subject || '(no name)'}`,
      body: html`<p>Contacts who were unsubscribed, or not subscribed to the topic, when the campaign was sent are not listed.</p>
${filters(visit, visit.path, FILTERS, run ? hidden('run', run) : html``)}
${table({
  ...{ caption: 'Recipients', columns, rows: list.data, empty: empty('No recipients found.') },
  link: ({ contact_id }: Row) => (contact_id ? `/contacts/${contact_id}` : '/contacts'),
})}
${pager(visit, list)}
<p><a href="/campaigns/${found.id}${run ? `?${new URLSearchParams({ run })}` : ''}">Back to the campaign</a></p>`,
    }
  },
)
