import type { Contact } from '#sql/contacts/contacts.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import { button, confirmButton, filters, form } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { badge, facts, linkButton, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { domainOptions } from '#web/pages/domains/own_domains.ts'
import { action, page, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { fieldsOf, namesOf, readContact, readNewContact, shownFields } from './contact_fields.ts'

type Row = Wire<Contact>
type Mail = Wire<ListedEmail>

const columns = [
  { title: 'Email', cell: ({ email }: Row) => email },
  { title: 'Name', cell: ({ first_name, last_name }: Row) => [first_name, last_name].filter(Boolean).join(' ') },
  { title: 'Status', cell: ({ unsubscribed }: Row) => badge(unsubscribed ? 'unsubscribed' : 'subscribed') },
  { title: 'Created', cell: ({ created_at }: Row) => time(created_at) },
]

const contacts = page('/contacts', async visit => {
  const domains = await domainOptions(visit)
  const [[first = ''] = []] = domains
  const query = { ...listQuery(visit), domain: visit.query.domain || first }
  const list = first ? await visit.call<List<Row>>('listContacts', { query }) : { has_more: false, data: [] }
  const body = { email: 'anna@acme.org', first_name: 'Anna', domain: query.domain }
  return {
    title: 'Contacts',
    actions: html`${linkButton('/imports', 'Import')} <a href="/audiences">Audiences</a> <a href="/contact-properties">Properties</a>`,
    body: html`${filters(visit, '/contacts', [{ name: 'domain', label: 'Domain', type: 'select', options: domains }])}
${table({
  ...{
    caption: `Contacts of ${query.domain}, newest first`,
    columns,
    rows: list.data,
    link: ({ id }: Row) => `/contacts/${id}`,
  },
  empty: empty('No contacts found. Add one:', curl(visit, 'POST', '/contacts', body)),
})}
${pager(visit, list)}
${section('Add a contact', form(visit, { action: '/contacts', submit: 'Add contact', fields: fieldsOf(domains) }))}`,
  }
})

const contact = recordPage<Row>('/contacts/:id', 'getContact', async (person, visit) => {
  const query = { ...listQuery(visit), contact_id: person.id }
  const mail = await visit.call<List<Mail>>('listEmails', { query })
  const { id, email, unsubscribed } = person
  return {
    title: email,
    actions: html`${badge(unsubscribed ? 'unsubscribed' : 'subscribed')}
${button(visit, `/contacts/${id}/subscription`, unsubscribed ? 'Resubscribe' : 'Unsubscribe', {
  values: { unsubscribed: String(!unsubscribed) },
})}`,
    body: html`${facts([
      ['First name', person.first_name],
      ['Last name', person.last_name],
      ...Object.entries(person.properties).map(([key, value]) => [key, String(value)] as const),
      ['Created', time(person.created_at)],
    ])}
${section(
  'Emails to this contact',
  html`${table({
    ...{
      caption: 'Newest first',
      rows: mail.data,
      link: ({ id }: Mail) => `/emails/${id}`,
      empty: empty('No emails yet.'),
    },
    columns: [
      { title: 'Subject', cell: ({ subject }: Mail) => subject || '(no subject)' },
      { title: 'Status', cell: ({ status }: Mail) => badge(status) },
      { title: 'Created', cell: ({ created_at }: Mail) => time(created_at) },
    ],
  })}${pager(visit, mail)}`,
)}
${section('Edit', form(visit, { action: `/contacts/${id}`, submit: 'Save', fields: namesOf(person), extra: shownFields(visit, person) }))}
${confirmButton(visit, `/contacts/${id}/delete`, 'Delete', 'Unsubscribes are remembered: if you add the contact again, it stays unsubscribed.')}`,
  }
})

const backTo = (visit: Visit, notice: string) => ({ to: `/contacts/${idOf(visit).id}`, notice })

export const contactRoom: Room = {
  pages: [contacts, contact],
  actions: [
    action('/contacts', contacts, async (visit, form) => {
      const body = { email: form.text('email'), domain: form.optional('domain'), ...readNewContact(form) }
      const { id } = await visit.call<Row>('createContact', { body })
      return { to: `/contacts/${id}`, notice: 'Contact saved.' }
    }),
    action('/contacts/:id', contact, async (visit, form) => {
      await visit.call('updateContact', { params: idOf(visit), body: readContact(form) })
      return backTo(visit, 'Contact updated.')
    }),
    action('/contacts/:id/subscription', contact, async (visit, form) => {
      const unsubscribed = form.text('unsubscribed') === 'true'
      await visit.call('updateContact', { params: idOf(visit), body: { unsubscribed } })
      return backTo(visit, unsubscribed ? 'Contact unsubscribed.' : 'Contact resubscribed.')
    }),
    action('/contacts/:id/delete', contact, async visit => {
      await visit.call('deleteContact', { params: idOf(visit) })
      return { to: '/contacts', notice: 'Contact deleted.' }
    }),
  ],
}
