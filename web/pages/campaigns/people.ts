import type { CampaignEngagement } from '#sql/campaigns/report/engagement.ts'
import { type Html, html } from '#web/html.ts'
import { table } from '#web/layout/list.ts'
import { count, time, unicodeDomain } from '#web/layout/parts.ts'
import type { Wire } from '#web/request/wire.ts'

export type Engagement = Wire<CampaignEngagement>

/** Lists the recipients who opened, clicked and replied. */
export function activity({ opened, clicked, replied }: Engagement): Html {
  const link = ({ contact_id }: { contact_id: string | null }) => (contact_id ? `/contacts/${contact_id}` : '/contacts')
  const list = <Row extends { email: string; contact_id: string | null }>(
    caption: string,
    rows: Row[],
    ...more: { title: string; cell(row: Row): Html | string | number }[]
  ) =>
    rows.length === 0
      ? ''
      : table({
          caption,
          rows,
          link,
          empty: html``,
          columns: [{ title: 'Email', cell: ({ email }: Row) => unicodeDomain(email) }, ...more],
        })
  if (opened.length + clicked.length + replied.length === 0)
    return html`<p>Nobody has opened, clicked or replied yet.</p>`
  return html`${list('Replied, newest first', replied, { title: 'Received', cell: row => time(row.received_at) }, { title: 'Reply', cell: row => row.preview })}
${list('Clicked, newest first', clicked, { title: 'First click', cell: row => time(row.clicked_at) }, { title: 'Clicks', cell: row => count(row.click_count) })}
${list('Opened, newest first', opened, { title: 'First open', cell: row => time(row.opened_at) }, { title: 'Opens', cell: row => count(row.open_count) })}`
}
