import type { ListedEmail } from '#sql/sending/email_records.ts'
import { type Html, html } from '#web/html.ts'
import { empty, type List, table } from '#web/layout/list.ts'
import { emailBadge, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { exampleEmail } from '#web/pages/domains/own_domains.ts'
import { page, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { newestCaptured } from './captured/captured.ts'
import { needsAttention } from './overview_attention.ts'
import { chart, type Quota, quotas, tiles } from './overview_figures.ts'

type Mail = Wire<ListedEmail>

const overview = page('/', async visit => {
  const { emails } = await visit.call<{ emails: { daily: Quota; monthly: Quota } }>('getUsage')
  const { data } = await visit.call<List<Mail>>('listEmails', { query: { limit: '10' } })
  return {
    title: 'Overview',
    body: html`${await needsAttention(visit)}
${await tiles(visit)}
${await chart(visit)}
${quotas({ 'Last 24 hours': emails.daily, 'Last 30 days': emails.monthly })}
${await newestCaptured(visit)}
${section('Recent emails', await recentEmails(visit, data))}`,
  }
})

async function recentEmails(visit: Visit, rows: Mail[]): Promise<Html> {
  if (rows.length === 0) {
    const sentence = 'No emails yet. Create an API key, then send your first email:'
    return empty(sentence, await exampleEmail(visit))
  }
  return table({
    ...{ caption: 'Newest first', rows, link: ({ id }: Mail) => `/emails/${id}` },
    columns: [
      { title: 'To', cell: ({ to }: Mail) => unicodeDomain(to[0] ?? '') },
      { title: 'Subject', cell: ({ subject }: Mail) => subject },
      { title: 'Status', cell: ({ status }: Mail) => emailBadge(status) },
      { title: 'Created', cell: ({ created_at }: Mail) => time(created_at) },
    ],
    empty: html``,
  })
}

export const overviewRoom: Room = { pages: [overview], actions: [] }
