import { uuid } from '#api/operations/ids.ts'
import { orNotFound } from '#lib/errors.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { listDoubtedEmails } from '#sql/sending/search/doubted_emails.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, optionsOf } from '#web/layout/field.ts'
import { accountField, filters, hidden } from '#web/layout/form.ts'
import { type Column, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { filtersOf } from '#web/layout/list_page.ts'
import { counted, emailBadge, linkButton, time, unicodeDomain } from '#web/layout/parts.ts'
import { exampleEmail } from '#web/pages/domains/own_domains.ts'
import { type PageContent, page, type Visit } from '#web/request/visit.ts'
import { type Wire, wire } from '#web/request/wire.ts'

type Row = Wire<ListedEmail>

/** Emails with a delivery in doubt. The API has no such folder. */
const IN_DOUBT = 'in doubt'
const FOLDERS = `all sent scheduled outbox failed canceled transactional campaigns automations`.split(' ')
const STATUSES =
  'scheduled queued sent delivered delivery_delayed bounced complained failed canceled suppressed opened clicked'

const FILTERS: Field[] = [
  { name: 'q', label: 'Search', type: 'search' },
  {
    ...{ name: 'folder', label: 'Folder', type: 'select' },
    options: optionsOf([...FOLDERS, IN_DOUBT]),
  },
  {
    ...{ name: 'status', label: 'Status', type: 'select' },
    options: [
      ['', 'all'],
      ...STATUSES.split(' ').map(name => [name, name === 'sent' ? IN_DOUBT : name.replaceAll('_', ' ')] as const),
    ],
  },
  { name: 'domain', label: 'Domain' },
  { name: 'tag', label: 'Tag' },
  { name: 'created_after', label: 'Created after', type: 'date' },
  { name: 'created_before', label: 'Created before', type: 'date' },
]

const columns: Column<Row>[] = [
  { title: 'To', cell: ({ to }) => unicodeDomain(to[0] ?? '') + (to.length > 1 ? ` and ${to.length - 1} more` : '') },
  { title: 'Subject', cell: ({ subject }) => subject },
  { title: 'Status', cell: ({ status }) => emailBadge(status) },
  { title: 'Created', cell: ({ created_at }) => time(created_at) },
]

const selection: Column<Row> = {
  title: 'Select',
  cell: ({ id, to, subject }) =>
    html`<input type="checkbox" name="id" value="${id}" aria-label="Select ${subject} to ${unicodeDomain(to[0] ?? '')}">`,
}

/** The sent and scheduled emails of the account. */
export const emails = page('/emails', showEmails, filtersOf('/emails', 'Emails', FILTERS))

async function showEmails(visit: Visit): Promise<PageContent> {
  const list = await find(visit)
  const rows = await rowsOf(visit, list.data)
  return {
    title: 'Emails',
    actions: linkButton('/docs/sending', 'How to send'),
    body: html`${filters(visit, '/emails', FILTERS)}
${ignoresFilters(visit) ? html`<p>The folder “${IN_DOUBT}” ignores the other filters.</p>` : ''}
${visit.mayChange && list.data.length > 0 ? bulkForm(visit, rows, list.data) : rows}
${pager(visit, list)}`,
  }
}

async function rowsOf(visit: Visit, rows: Row[]): Promise<Html> {
  if (rows.length === 0) return empty('No emails found. Send one:', await exampleEmail(visit))
  return table({
    ...{ caption: 'Emails, newest first', rows, link: ({ id }: Row) => `/emails/${id}`, empty: html`` },
    columns: visit.mayChange ? [...columns, selection] : columns,
  })
}

async function find(visit: Visit): Promise<List<Row>> {
  const { folder, ...query } = listQuery(visit, ...FILTERS.map(({ name }) => name))
  if (folder !== IN_DOUBT) {
    return visit.call<List<Row>>('listEmails', { query: folder ? { ...query, folder } : query })
  }
  const { after, before } = query
  for (const cursor of [after, before]) if (cursor !== undefined) orNotFound('Email', uuid(cursor))
  return wire(await listDoubtedEmails(visit.ctx.pool, visit.session.account_id, { limit: 50, after, before }))
}

function ignoresFilters({ query }: Visit): boolean {
  return query.folder === IN_DOUBT && FILTERS.some(({ name }) => name !== 'folder' && query[name])
}

/** Buttons that act on the selected emails, or on all of the page. */
function bulkForm(visit: Visit, rows: Html, shown: Row[]): Html {
  const button = (operation: string, name: string) =>
    html`<button name="operation" value="${operation}">${name}</button> `
  return html`<form method="post" action="/emails/selected" class="bulk">
${accountField(visit)}${hidden('back', String(new URLSearchParams(visit.query)))}
${rows}
<fieldset><legend>Selected emails</legend>
<p class="check"><input type="checkbox" name="all" value="1" id="all"><label for="all">All ${counted(shown.length, 'email')} on this page</label></p>
${shown.map(({ id }) => hidden('shown', id))}
${button('cancel', 'Cancel scheduled')}${button('try-now', 'Retry delayed now')}${button('retry', 'Retry if in doubt')}
${button('release', 'Mark as delivered if in doubt')}<button class="danger" name="operation" value="drop">Mark as failed if in doubt</button>
</fieldset></form>`
}
