import type { ListedEmail } from '#sql/sending/email_records.ts'
import { type Html, html } from '#web/html.ts'
import { empty, type List, table } from '#web/layout/list.ts'
import { badge, count, facts, section, time } from '#web/layout/parts.ts'
import { exampleEmail } from '#web/pages/domains/own_domains.ts'
import { page, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { newestCaptured } from './captured/captured.ts'
import { chart, tiles } from './overview_figures.ts'
import { needs } from './overview_needs.ts'

type Use = { used: number; limit: number | null }
type Mail = Wire<ListedEmail>

const overview = page('/', async visit => {
  const { emails } = await visit.ask<{ emails: { daily: Use; monthly: Use } }>('getUsage')
  const { data } = await visit.ask<List<Mail>>('listEmails', { query: { limit: '10' } })
  return {
    title: 'Overview',
    body: html`${await needs(visit)}
${await tiles(visit)}
${await chart(visit)}
${facts([
  ['Quota of 24 hours', shown(emails.daily)],
  ['Quota of 30 days', shown(emails.monthly)],
])}
${await newestCaptured(visit)}
${section('Newest emails', await newest(visit, data))}`,
  }
})

function shown({ used, limit }: Use): string {
  return limit === null ? `${count(used)}, no limit` : `${count(used)} of ${count(limit)}`
}

async function newest(visit: Visit, rows: Mail[]): Promise<Html> {
  if (rows.length === 0) {
    const sentence = 'Nothing was sent yet. Create an API key, then send your first email:'
    return empty(sentence, await exampleEmail(visit))
  }
  return table({
    ...{ caption: 'Newest first', rows, link: ({ id }: Mail) => `/emails/${id}` },
    columns: [
      { title: 'To', cell: ({ to }: Mail) => to[0] ?? '' },
      { title: 'Subject', cell: ({ subject }: Mail) => subject },
      { title: 'Status', cell: ({ status }: Mail) => badge(status) },
      { title: 'Created', cell: ({ created_at }: Mail) => time(created_at) },
    ],
    empty: html``,
  })
}

export const overviewRoom: Room = { pages: [overview], actions: [] }
