import type { Suppression } from '#sql/suppressions/suppressions.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, optionsOf } from '#web/layout/field.ts'
import { button, form } from '#web/layout/form.ts'
import { type Column, curl, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, counted, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { action, type PageContent, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<Suppression>
type ImportResult = Record<'total' | 'created' | 'updated' | 'failed', number> & { errors: ImportError[] }
type ImportError = { line: number; email: string; message: string }

const REASONS = optionsOf(['bounce', 'complaint', 'manual', 'import'])

const suppressions = listPage<Row>({
  ...{ path: '/suppressions', title: 'Suppressions', operation: 'listSuppressions', hasPages: false },
  actions: html`<a class="button" href="/api/suppressions/export" download>Export</a>`,
  filters: [
    { name: 'reason', label: 'Reason', type: 'select', options: [['', 'all'], ...REASONS] },
    { name: 'email', label: 'Email address', type: 'search' },
    { name: 'domain', label: 'Domain' },
  ],
  columns: columnsFor,
  empty: visit => ['No suppressions found. Add one:', curl(visit, 'POST', '/suppressions', { email: 'anna@acme.org' })],
  below: forms,
})

function columnsFor(visit: Visit): Column<Row>[] {
  const remove: Column<Row> = {
    title: 'Remove',
    cell: ({ id }) => button(visit, `/suppressions/${id}/remove`, 'Remove'),
  }
  return [
    { title: 'Email', cell: ({ email }) => unicodeDomain(email) },
    { title: 'Reason', cell: ({ reason }) => badge(reason) },
    { title: 'Details', cell: causeOf },
    { title: 'Expires', cell: ({ expires_at }) => time(expires_at) },
    { title: 'Added', cell: ({ created_at }) => time(created_at) },
    ...(visit.mayChange ? [remove] : []),
  ]
}

/** The reply of the receiving server, with a link to the rejected email. */
function causeOf({ cause, source_email_id }: Row): Html {
  return html`${cause ?? ''} ${source_email_id ? html`<a href="/emails/${source_email_id}">View email</a>` : ''}`
}

const ADDRESS: Field[] = [
  { name: 'email', label: 'Email address', type: 'email', required: true },
  { name: 'reason', label: 'Reason', type: 'select', options: REASONS, value: 'manual' },
]

const FILE: Field[] = [
  {
    ...{ name: 'csv', label: 'CSV text', type: 'textarea', required: true, placeholder: 'email,reason,expires_at' },
    hint: 'The first line has the column names: email (required), reason and expires_at (optional).',
  },
]

function forms(visit: Visit): Html {
  return html`${section(
    'Suppress an address',
    form(visit, { action: '/suppressions', submit: 'Suppress', fields: ADDRESS }),
  )}
${
  // `isSecret` since the response is a page: Turbo shows nothing after a form without a redirect.
  section('Import', form(visit, { action: '/suppressions/import', submit: 'Import', fields: FILE, isSecret: true }))
}`
}

function importPage({ total, created, updated, failed, errors }: ImportResult): PageContent {
  return {
    title: 'Import result',
    body: html`<p>${counted(total, 'record')}: ${count(created)} added, ${count(updated)} already suppressed, ${count(failed)} invalid.</p>
${table({
  ...{ caption: 'Invalid records', rows: errors, empty: html`` },
  columns: [
    { title: 'Line', cell: ({ line }: ImportError) => line },
    { title: 'Email', cell: ({ email }: ImportError) => email },
    { title: 'Error', cell: ({ message }: ImportError) => message },
  ],
})}
<p><a href="/suppressions">Back to suppressions</a></p>`,
  }
}

export const suppressionRoom: Room = {
  pages: [suppressions],
  actions: [
    action('/suppressions', suppressions, async (visit, form) => {
      const body = { email: form.text('email'), reason: form.text('reason') }
      const { email } = await visit.call<Row>('createSuppression', { body })
      return { to: '/suppressions', notice: `${unicodeDomain(email)} is suppressed.` }
    }),
    action('/suppressions/import', suppressions, async (visit, form) =>
      importPage(await visit.call<ImportResult>('importSuppressions', { body: { csv: form.raw('csv') } })),
    ),
    action('/suppressions/:id/remove', suppressions, async visit => {
      await visit.call('deleteSuppression', { params: idOf(visit) })
      return { to: '/suppressions', notice: 'Suppression removed.' }
    }),
  ],
}
