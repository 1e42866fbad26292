import type { RecentEvent } from '#sql/events/contact_events.ts'
import type { EventDefinition } from '#sql/events/definitions.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { curl, empty, type List, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { count, facts, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { exampleDomain } from '#web/pages/domains/own_domains.ts'
import { type Action, action } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Definition = Wire<EventDefinition>
type Recent = Wire<RecentEvent>

const schemaField = (value: string): Field => ({
  ...{ name: 'schema', label: 'Schema', type: 'textarea', rows: 4, value },
  hint: 'Types of the values that come with it, as JSON, for example: {"plan": "string"}. Leave empty for any values.',
})

export const events = listPage<Definition>({
  ...{ path: '/events', title: 'Events', operation: 'listEvents' },
  columns: [
    { title: 'Name', cell: ({ name }) => html`<code>${name}</code>` },
    { title: 'Schema', cell: ({ schema }) => html`<code>${JSON.stringify(schema ?? {})}</code>` },
    { title: 'Created', cell: ({ created_at }) => time(created_at) },
  ],
  empty: visit => [
    'No events yet. Create one:',
    curl(visit, 'POST', '/events', { name: 'signed.up', schema: { plan: 'string' } }),
  ],
  below: visit => {
    const name: Field = { name: 'name', label: 'Name', required: true, placeholder: 'signed.up' }
    return section('New event', form(visit, { action: '/events', submit: 'Create', fields: [name, schemaField('')] }))
  },
})

export const event = recordPage<Definition>('/events/:id', 'getEvent', async (found, visit) => {
  const { data } = await visit.call<List<Recent>>('listRecentEvents', { params: idOf(visit) })
  const path = `/events/${found.id}`
  const schema = JSON.stringify(found.schema, null, 2)
  const example = { event: found.name, email: `anna@${(await exampleDomain(visit)).name}`, payload: {} }
  return {
    title: found.name,
    body: html`${facts([
      ['Created', time(found.created_at)],
      ['Schema', html`<code>${JSON.stringify(found.schema)}</code>`],
    ])}
${section(
  'Recent events',
  table({
    ...{ caption: 'The newest 100 of the last 90 days', rows: data },
    link: ({ contact_id }: Recent) => `/contacts/${contact_id}`,
    columns: [
      { title: 'Contact', cell: ({ contact_id }: Recent) => html`<code>${contact_id}</code>` },
      { title: 'Time', cell: ({ created_at }: Recent) => time(created_at) },
      { title: 'Payload', cell: ({ payload }: Recent) => html`<code>${JSON.stringify(payload)}</code>` },
      { title: 'Runs started', cell: ({ enrolled }: Recent) => count(enrolled) },
    ],
    empty: empty('Not sent yet. Send it:', curl(visit, 'POST', '/events/send', example)),
  }),
)}
${section('Edit', form(visit, { action: path, submit: 'Save', fields: [schemaField(schema === '{}' ? '' : schema)] }))}
${confirmButton(visit, `${path}/delete`, 'Delete', 'Events with its name can still be sent, with any values.')}`,
  }
})

export const eventActions: Action[] = [
  action('/events', events, async (visit, form) => {
    const body = { name: form.text('name'), schema: form.json('schema') }
    const { id } = await visit.call<Definition>('createEvent', { body })
    return { to: `/events/${id}`, notice: 'Event created.' }
  }),
  action('/events/:id', event, async (visit, form) => {
    await visit.call('updateEvent', { params: idOf(visit), body: { schema: form.json('schema') ?? null } })
    return { to: `/events/${idOf(visit).id}`, notice: 'Event saved.' }
  }),
  action('/events/:id/delete', event, async visit => {
    await visit.call('deleteEvent', { params: idOf(visit) })
    return { to: '/events', notice: 'Event deleted.' }
  }),
]
