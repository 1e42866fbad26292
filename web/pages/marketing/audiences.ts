import type { Audience } from '#sql/contacts/audiences.ts'
import type { Contact } from '#sql/contacts/contacts.ts'
import { html } from '#web/html.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, facts, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { domainOptions, exampleDomain } from '#web/pages/domains/own_domains.ts'
import { listAll } from '#web/request/call_api.ts'
import { action, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<Audience>
type Person = Wire<Contact>

/**
 * Returns the audiences of the account, as options of a select. Default audiences come first: nobody should get into another one
 * without being put there.
 */
export async function audienceOptions(visit: Visit) {
  const rows = await listAll<Row>(visit.call, 'listAudiences')
  const isOther = ({ id, domain_id }: Row) => Number(id !== domain_id)
  const sorted = rows.toSorted((a, b) => isOther(a) - isOther(b))
  return sorted.map(({ id, name, domain }) => [id, `${name} (${unicodeDomain(domain)})`] as const)
}

const audiences = listPage<Row>({
  ...{ path: '/audiences', title: 'Audiences', operation: 'listAudiences' },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Domain', cell: ({ domain }) => unicodeDomain(domain) },
    { title: 'Contacts', cell: ({ contacts_count }) => count(contacts_count) },
    { title: 'Created', cell: ({ created_at }) => time(created_at) },
  ],
  empty: async visit => [
    'No audiences yet. Create one:',
    curl(visit, 'POST', '/audiences', { name: 'Readers', domain: (await exampleDomain(visit)).name }),
  ],
  below: async visit => {
    const fields = [
      { name: 'name', label: 'Name', required: true },
      { name: 'domain', label: 'Domain', type: 'select', options: await domainOptions(visit) },
    ] as const
    return section('New audience', form(visit, { action: '/audiences', submit: 'Create', fields }))
  },
})

const audience = recordPage<Row>('/audiences/:id', 'getAudience', async (found, visit) => {
  const { id, name } = found
  const contacts = await visit.call<List<Person>>('listAudienceContacts', {
    ...{ params: { audience_id: id }, query: listQuery(visit) },
  })
  return {
    title: name,
    body: html`${facts([
      ['Domain', unicodeDomain(found.domain)],
      ['Contacts', count(found.contacts_count)],
    ])}
${table({
  ...{ caption: 'Contacts, newest first', rows: contacts.data, link: ({ id }: Person) => `/contacts/${id}` },
  columns: [
    { title: 'Email', cell: ({ email }: Person) => unicodeDomain(email) },
    { title: 'Status', cell: ({ unsubscribed }: Person) => badge(unsubscribed ? 'unsubscribed' : 'subscribed') },
  ],
  empty: empty(
    'No contacts yet. Add one:',
    curl(visit, 'POST', `/audiences/${id}/contacts`, { email: 'anna@acme.org' }),
  ),
})}
${pager(visit, contacts)}
${section('Rename', form(visit, { action: `/audiences/${id}`, submit: 'Save', fields: [{ name: 'name', label: 'Name', value: name, required: true }] }))}
${id === found.domain_id ? '' : confirmButton(visit, `/audiences/${id}/delete`, 'Delete', 'Only the audience is deleted. Its contacts are kept.')}`,
  }
})

export const audienceRoom: Room = {
  pages: [audiences, audience],
  actions: [
    action('/audiences', audiences, async (visit, form) => {
      const body = { name: form.text('name'), domain: form.optional('domain') }
      const { id } = await visit.call<Row>('createAudience', { body })
      return { to: `/audiences/${id}`, notice: 'Audience created.' }
    }),
    action('/audiences/:id', audience, async (visit, form) => {
      await visit.call('updateAudience', { params: idOf(visit), body: { name: form.text('name') } })
      return { to: `/audiences/${idOf(visit).id}`, notice: 'Audience renamed.' }
    }),
    action('/audiences/:id/delete', audience, async visit => {
      await visit.call('deleteAudience', { params: idOf(visit) })
      return { to: '/audiences', notice: 'Audience deleted.' }
    }),
  ],
}
