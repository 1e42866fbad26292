import type { ListedEmail } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import { filters } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { badge, linkButton, time } from '#web/layout/parts.ts'
import { page, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<ListedEmail>

const FOLDERS = 'all sent scheduled outbox failed canceled transactional campaigns automations'

const columns = [
  { title: 'To', cell: ({ to }: Row) => (to.length > 1 ? `${to[0]} and ${to.length - 1} more` : (to[0] ?? '')) },
  { title: 'Subject', cell: ({ subject }: Row) => subject },
  { title: 'Status', cell: ({ status }: Row) => badge(status) },
  { title: 'Created', cell: ({ created_at }: Row) => time(created_at) },
]

/** All email that the account has sent or is going to send. */
export const emails = page('/emails', async visit => {
  const list = await visit.ask<List<Row>>('listEmails', { query: listQuery(visit, 'q', 'folder') })
  const body = { from: 'Acme <hello@acme.com>', to: ['anna@example.org'], subject: 'Hello', html: '<p>It works.</p>' }
  const nothing = empty('No email was found. This sends one:', curl(visit, 'POST', '/emails', body))
  return {
    title: 'Emails',
    actions: linkButton('/docs/sending', 'How to send'),
    body: html`${search(visit)}
${table({ caption: 'Sent emails, newest first', columns, rows: list.data, link: ({ id }) => `/emails/${id}`, empty: nothing })}
${pager(visit, list)}`,
  }
})

function search(visit: Visit) {
  return filters(visit, '/emails', [
    { name: 'q', label: 'Text', type: 'search' },
    { name: 'folder', label: 'Folder', type: 'select', options: FOLDERS.split(' ').map(name => [name, name] as const) },
  ])
}
