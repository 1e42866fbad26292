import type { ContactProperty } from '#sql/contacts/properties.ts'
import { html } from '#web/html.ts'
import { optionsOf } from '#web/layout/field.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { curl } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { facts, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { action, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Property = Wire<ContactProperty>

const properties = listPage<Property>({
  ...{ path: '/contact-properties', title: 'Contact properties', operation: 'listContactProperties' },
  columns: [
    { title: 'Key', cell: ({ key }) => html`<code>${key}</code>` },
    { title: 'Type', cell: ({ type }) => type },
    { title: 'Fallback value', cell: ({ fallback_value }) => fallback_value ?? '' },
    { title: 'Created', cell: ({ created_at }) => time(created_at) },
  ],
  empty: visit => [
    'No contact properties yet. Create one:',
    curl(visit, 'POST', '/contact-properties', { key: 'plan', type: 'string' }),
  ],
  below: visit =>
    section(
      'New property',
      form(visit, {
        ...{ action: '/contact-properties', submit: 'Create' },
        fields: [
          {
            name: 'key',
            label: 'Key',
            required: true,
            hint: 'Letters, digits and _. Use it in templates as {{plan}}.',
          },
          {
            ...{ name: 'type', label: 'Type', type: 'select' },
            options: optionsOf(['string', 'number']),
          },
          { name: 'fallback_value', label: 'Fallback value', hint: 'Used for contacts without a value.' },
        ],
      }),
    ),
})

const property = recordPage<Property>('/contact-properties/:id', 'getContactProperty', (found, visit) => {
  const { id, key, type, fallback_value: value } = found
  const fields = [{ name: 'fallback_value', label: 'Fallback value', value: value === null ? '' : String(value) }]
  return {
    title: key,
    body: html`${facts([
      ['Type', type],
      ['Fallback value', value],
      ['Created', time(found.created_at)],
    ])}
${form(visit, { action: `/contact-properties/${id}`, submit: 'Save', fields })}
${confirmButton(visit, `/contact-properties/${id}/delete`, 'Delete', 'Its value is deleted from all contacts.')}`,
  }
})

export const propertyRoom: Room = {
  pages: [properties, property],
  actions: [
    action('/contact-properties', properties, async (visit, form) => {
      const type = form.text('type')
      const body = { key: form.text('key'), type, fallback_value: form.propertyValue('fallback_value', type) }
      await visit.call('createContactProperty', { body })
      return { to: '/contact-properties', notice: 'Property created.' }
    }),
    action('/contact-properties/:id', property, async (visit, form) => {
      const found = await visit.call<Property>('getContactProperty', { params: idOf(visit) })
      const body = { fallback_value: form.propertyValue('fallback_value', found.type, found.fallback_value) }
      await visit.call('updateContactProperty', { params: idOf(visit), body })
      return { to: `/contact-properties/${idOf(visit).id}`, notice: 'Property updated.' }
    }),
    action('/contact-properties/:id/delete', property, async visit => {
      await visit.call('deleteContactProperty', { params: idOf(visit) })
      return { to: '/contact-properties', notice: 'Property deleted.' }
    }),
  ],
}
