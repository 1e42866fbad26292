import { MEMBERS } from '#lib/contacts/import/options.ts'
import type { ContactImport } from '#sql/contacts/import/imports.ts'
import type { RecordError } from '#sql/contacts/import/record_errors.ts'
import { type Html, html } from '#web/html.ts'
import { form } from '#web/layout/form.ts'
import { curl, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, facts, linkButton, section, time } from '#web/layout/parts.ts'
import { recordPage } from '#web/layout/record_page.ts'
import { exampleDomain } from '#web/pages/domains/own_domains.ts'
import type { Form } from '#web/request/form.ts'
import { action, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { audienceOptions } from './audiences.ts'

type Import = Wire<ContactImport>
type WithErrors = Import & { errors: Wire<RecordError>[] }

const imports = listPage<Import>({
  ...{ path: '/imports', title: 'Imports', operation: 'listContactImports' },
  columns: [
    { title: 'Started', cell: ({ created_at }) => time(created_at) },
    { title: 'Status', cell: ({ status }) => badge(status) },
    { title: 'Created', cell: ({ counts }) => count(counts.created) },
    { title: 'Updated', cell: ({ counts }) => count(counts.updated) },
    { title: 'Skipped', cell: ({ counts }) => count(counts.skipped) },
    { title: 'Failed', cell: ({ counts }) => count(counts.failed) },
  ],
  empty: async visit => [
    'No imports yet. Import a file:',
    `${curl(visit, 'GET', '/contacts/imports')} -F file=@contacts.csv -F domain=${(await exampleDomain(visit)).name}`,
  ],
  below: async visit => section('Import a file', await uploadForm(visit)),
})

async function uploadForm(visit: Visit): Promise<Html> {
  const column = (field: string) =>
    ({ name: `column_${field}`, label: `Column for ${field}`, placeholder: field }) as const
  return form(visit, {
    ...{ action: '/imports', submit: 'Import' },
    fields: [
      {
        ...{ name: 'file', label: 'CSV file', type: 'file', accept: '.csv,text/csv', required: true },
        hint: `The first line has the column names: ${MEMBERS.join(', ')}, properties, and topic: with the name of a topic.`,
      },
      { name: 'audience_id', label: 'Audience', type: 'select', options: await audienceOptions(visit) },
      ...MEMBERS.map(column),
      {
        ...{ name: 'columns', label: 'Columns for properties', type: 'textarea', rows: 3 },
        hint: 'Only for columns that are not named like their property. One per line, as property = column.',
      },
      {
        ...{ name: 'create_properties', label: 'Create missing properties', type: 'checkbox', value: true },
        hint: 'Otherwise, columns without a matching property are ignored.',
      },
      { name: 'skip', label: 'Skip existing contacts', type: 'checkbox' },
      { name: 'resubscribe', label: 'Resubscribe contacts who have unsubscribed', type: 'checkbox' },
    ],
  })
}

const importPage = recordPage<WithErrors>('/imports/:id', 'getContactImport', found => {
  const { id, status, counts, records, ignored_columns, errors } = found
  const isRunning = status === 'queued' || status === 'in_progress'
  const file = `/api/contacts/imports/${id}/errors?format=csv`
  return {
    title: 'Contact import',
    isLive: isRunning,
    actions: badge(status),
    body: html`${isRunning ? progress(counts.total, records) : ''}
${facts([
  ['Error', found.error],
  ['Records', records === null ? 'not counted yet' : count(records)],
  ['Created', count(counts.created)],
  ['Updated', count(counts.updated)],
  ['Skipped', count(counts.skipped)],
  ['Failed', count(counts.failed)],
  ['Ignored columns', ignored_columns.join(', ')],
  ['Started', time(found.created_at)],
  ['Completed', time(found.completed_at, 'not yet')],
])}
${errors.length > 0 ? section('Skipped and failed records', html`${errorTable(errors)}<p>${linkButton(file, 'Download all as CSV')}</p>`) : ''}
<p><a href="/imports">Back to imports</a></p>`,
  }
})

function progress(done: number, records: number | null): Html {
  const shown =
    records === null
      ? html`<progress id="progress"></progress>`
      : html`<progress id="progress" max="${records}" value="${done}"></progress>`
  const text = records === null ? 'The file is being read.' : `${count(done)} of ${count(records)} records.`
  return html`<p><label for="progress">Progress</label>${shown} ${text}</p>`
}

function errorTable(rows: Wire<RecordError>[]): Html {
  return table({
    ...{ caption: 'The first 100, in the order of the file', rows, empty: html`` },
    columns: [
      { title: 'Line', cell: ({ line }) => count(line) },
      { title: 'Email', cell: ({ email }) => email ?? '' },
      { title: 'Outcome', cell: ({ outcome }) => badge(outcome) },
      { title: 'Reason', cell: ({ message }) => message },
    ],
  })
}

/** Reads the column map from the form; undefined if all its fields are empty. */
function columnMap(form: Form): object | undefined {
  const fields = MEMBERS.flatMap(name => (form.optional(`column_${name}`) ? [[name, form.text(`column_${name}`)]] : []))
  const properties = form.lines('columns').map(line => {
    const [key = '', ...column] = line.split('=')
    return [key.trim(), { column: column.join('=').trim() || key.trim() }]
  })
  if (fields.length + properties.length === 0) return undefined
  return { ...Object.fromEntries(fields), properties: Object.fromEntries(properties) }
}

export const importRoom: Room = {
  pages: [imports, importPage],
  actions: [
    action('/imports', imports, async (visit, form) => {
      const body = {
        ...{ file: true, audience_id: form.optional('audience_id'), column_map: columnMap(form) },
        ...{ create_properties: form.has('create_properties'), resubscribe: form.has('resubscribe') },
        on_conflict: form.has('skip') ? 'skip' : 'upsert',
      }
      const { id } = await visit.call<Import>('importContacts', { body })
      return { to: `/imports/${id}`, notice: 'Import started.' }
    }),
  ],
}
