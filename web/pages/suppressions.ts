import type { Suppression } from '#sql/suppressions/suppressions.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, optionsOf } from '#web/layout/field.ts'
import { button, form } from '#web/layout/form.ts'
import { type Column, curl, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, section, time } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { action, type Room, type Shown, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<Suppression>
type Imported = Record<'total' | 'created' | 'updated' | 'failed', number> & { errors: Fault[] }
type Fault = { line: number; email: string; message: string }

const REASONS = optionsOf(['bounce', 'complaint', 'manual', 'import'])

const suppressions = listPage<Row>({
  ...{ path: '/suppressions', title: 'Suppressions', operation: 'listSuppressions', hasPages: false },
  actions: html`<a class="button" href="/api/suppressions/export" download>Export</a>`,
  filters: [
    { name: 'reason', label: 'Reason', type: 'select', options: [['', 'all'], ...REASONS] },
    { name: 'email', label: 'Address', type: 'search' },
    { name: 'domain', label: 'Domain' },
  ],
  columns: columnsFor,
  empty: visit => [
    'No address is suppressed. This suppresses one:',
    curl(visit, 'POST', '/suppressions', { email: 'anna@acme.org' }),
  ],
  below: forms,
})

function columnsFor(visit: Visit): Column<Row>[] {
  const remove: Column<Row> = {
    title: 'Remove',
    cell: ({ id }) => button(visit, `/suppressions/${id}/remove`, 'Remove'),
  }
  return [
    { title: 'Address', cell: ({ email }) => email },
    { title: 'Reason', cell: ({ reason }) => badge(reason) },
    { title: 'Cause', cell: causeOf },
    { title: 'Ends', cell: ({ expires_at }) => time(expires_at) },
    { title: 'Since', cell: ({ created_at }) => time(created_at) },
    ...(visit.mayChange ? [remove] : []),
  ]
}

/** The reply of the receiving server, with a link to the email that it rejected. */
function causeOf({ cause, source_email_id }: Row): Html {
  return html`${cause ?? ''} ${source_email_id ? html`<a href="/emails/${source_email_id}">The email</a>` : ''}`
}

const ADDRESS: Field[] = [
  { name: 'email', label: 'Address', type: 'email', required: true },
  { name: 'reason', label: 'Reason', type: 'select', options: REASONS, value: 'manual' },
]

const FILE: Field[] = [
  {
    ...{ name: 'csv', label: 'CSV text', type: 'textarea', required: true, placeholder: 'email,reason,expires_at' },
    hint: 'The first line names the columns: email, and reason and expires_at if there are any.',
  },
]

function forms(visit: Visit): Html {
  if (!visit.mayChange) return html``
  return html`${section(
    'Suppress an address',
    form(visit, { action: '/suppressions', submit: 'Suppress', fields: ADDRESS }),
  )}
${
  // As a secret, the result is a page in response to the form itself: Turbo would wait for a redirect.
  section('Import', form(visit, { action: '/suppressions/import', submit: 'Import', fields: FILE, isSecret: true }))
}`
}

function importPage({ total, created, updated, failed, errors }: Imported): Shown {
  return {
    title: 'Imported suppressions',
    body: html`<p>Of ${count(total)} records, ${count(created)} were added, ${count(updated)} were suppressed already, and
${count(failed)} are wrong.</p>
${table({
  ...{ caption: 'Records that are wrong', rows: errors, empty: html`` },
  columns: [
    { title: 'Line', cell: ({ line }: Fault) => line },
    { title: 'Address', cell: ({ email }: Fault) => email },
    { title: 'Problem', cell: ({ message }: Fault) => message },
  ],
})}
<p><a href="/suppressions">All suppressions</a></p>`,
  }
}

export const suppressionRoom: Room = {
  pages: [suppressions],
  actions: [
    action('/suppressions', suppressions, async (visit, form) => {
      const body = { email: form.text('email'), reason: form.text('reason') }
      const { email } = await visit.ask<Row>('createSuppression', { body })
      return { to: '/suppressions', notice: `${email} is suppressed.` }
    }),
    action('/suppressions/import', suppressions, async (visit, form) =>
      importPage(await visit.ask<Imported>('importSuppressions', { body: { csv: form.raw('csv') } })),
    ),
    action('/suppressions/:id/remove', suppressions, async visit => {
      await visit.ask('deleteSuppression', { params: idOf(visit) })
      return { to: '/suppressions', notice: 'The address is sent email again.' }
    }),
  ],
}
