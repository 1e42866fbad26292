import type { Consent } from '#sql/contacts/consents.ts'
import type { Contact } from '#sql/contacts/contacts.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import { button, confirmButton, form } from '#web/layout/form.ts'
import { empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { badge, emailBadge, facts, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { findDomains, nameOfDomain } from '#web/pages/domains/own_domains.ts'
import { action, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { namesOf, readContact, readNewContact, shownFields } from './contact_fields.ts'
import { contactGroupActions, contactGroups } from './contact_groups.ts'
import { contacts } from './contact_list.ts'

type Row = Wire<Contact>
type Found = Row & { consents: Wire<Consent>[] }
type Mail = Wire<ListedEmail>

const contact = recordPage<Found>('/contacts/:id', 'getContact', async (person, visit) => {
  const query = { ...listQuery(visit), contact_id: person.id }
  const mail = await visit.call<List<Mail>>('listEmails', { query })
  const { id, email, unsubscribed } = person
  const domain = nameOfDomain(await findDomains(visit), person.domain_id)
  return {
    title: unicodeDomain(email),
    actions: html`${badge(unsubscribed ? 'unsubscribed' : 'subscribed')}
${button(visit, `/contacts/${id}/subscription`, unsubscribed ? 'Resubscribe' : 'Unsubscribe', {
  values: { unsubscribed: String(!unsubscribed) },
})}`,
    body: html`${facts([
      ['First name', person.first_name],
      ['Last name', person.last_name],
      ...Object.entries(person.properties).map(([key, value]) => [key, String(value)] as const),
      ['Domain', domain && unicodeDomain(domain)],
      ['Time zone', person.timezone],
      ['Tracking', person.do_not_track ? 'opens and clicks are not tracked' : null],
      ['Created', time(person.created_at)],
    ])}
${await contactGroups(visit, person)}
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
      { title: 'Status', cell: ({ status }: Mail) => emailBadge(status) },
      { title: 'Created', cell: ({ created_at }: Mail) => time(created_at) },
    ],
  })}${pager(visit, mail)}`,
)}
${section('Edit', form(visit, { action: `/contacts/${id}`, submit: 'Save', fields: namesOf(person), extra: shownFields(visit, person) }))}
${confirmButton(visit, `/contacts/${id}/delete`, 'Delete', 'Unsubscribes are remembered: if you add the contact again, it stays unsubscribed.')}
${confirmButton(visit, `/contacts/${id}/erase`, 'Erase', ERASURE)}`,
  }
})

const ERASURE =
  'Deletes the contact, email received from it, and the contents of email that was sent to its address alone. This cannot be undone.'

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
    action('/contacts/:id/erase', contact, async visit => {
      await visit.call('deleteContact', { params: idOf(visit), query: { erase: 'true' } })
      return { to: '/contacts', notice: 'Contact and its emails erased.' }
    }),
    ...contactGroupActions(contact),
  ],
}
