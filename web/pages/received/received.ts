import type { ListedReceivedEmail } from '#sql/receiving/received_email_list.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { filters } from '#web/layout/form.ts'
import { type Column, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { filtersOf } from '#web/layout/list_page.ts'
import { badge, linkButton, time } from '#web/layout/parts.ts'
import { type PageContent, page, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { failedChecks } from './verdicts.ts'

type Row = Wire<ListedReceivedEmail>

const FILTERS: Field[] = [
  { name: 'q', label: 'Search', type: 'search' },
  {
    ...{ name: 'read', label: 'Read', type: 'select' },
    options: [
      ['', 'all'],
      ['false', 'unread'],
      ['true', 'read'],
    ],
  },
  {
    ...{ name: 'category', label: 'Category', type: 'select' },
    options: ['', 'interested', 'neutral', 'not_interested', 'none'].map(
      name => [name, name.replace('_', ' ') || 'all'] as const,
    ),
  },
  { name: 'domain', label: 'Domain' },
  { name: 'from', label: 'From' },
]

const columns: Column<Row>[] = [
  { title: 'From', cell: ({ from, from_name, mail_from }) => from_name || from || mail_from || '(no sender)' },
  {
    title: 'Subject',
    cell: ({ subject, read }) => html`${read ? '' : html`${badge('unread')} `}${subject || '(no subject)'}`,
  },
  { title: 'Category', cell: ({ category }) => (category ? badge(category) : '') },
  { title: 'Checks', cell: ({ verdicts }) => failedChecks(verdicts) },
  { title: 'Received', cell: ({ created_at }) => time(created_at) },
]

/** The inbox of the account. Turbo must not prefetch its pages, since opening one marks the email as read. */
export const received = page('/received', showReceived, filtersOf('/received', 'Received', FILTERS))

async function showReceived(visit: Visit): Promise<PageContent> {
  const query = listQuery(visit, ...FILTERS.map(({ name }) => name))
  const list = await visit.call<List<Row>>('listReceivedEmails', { query })
  const rows = { caption: 'Received emails, newest first', columns, rows: list.data, link: linkTo }
  return {
    title: 'Received',
    actions: linkButton('/docs/receiving', 'How to receive'),
    body: html`${filters(visit, '/received', FILTERS)}
<div data-turbo-prefetch="false">${table({ ...rows, empty: empty('No emails found. Send one to this server:', exampleCommand(visit)) })}</div>
${pager(visit, list)}`,
  }
}

const linkTo = ({ id }: Row) => `/received/${id}`

/** Returns a command that sends an email to this server. */
function exampleCommand({ ctx: { config } }: Visit): string {
  const to = 'anna@sandbox.internal'
  return `printf 'From: bob@example.org\\nTo: ${to}\\nSubject: Hi\\n\\nHello!\\n' |
  curl smtp://${new URL(config.BASE_URL).hostname}:${config.SMTP_PORT} --mail-from bob@example.org --mail-rcpt ${to} -T -`
}
