import type { Contact } from '#sql/contacts/contacts.ts'
import type { ListedSegment, Segment } from '#sql/segments/segment_records.ts'
import { html } from '#web/html.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, facts, foldedJson, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { domainOptions, exampleDomain, findDomains, nameOfDomain } from '#web/pages/domains/own_domains.ts'
import { action, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { filterFields, readCriteria, rulesHtml } from './segment_editor.ts'
import { criteriaWords } from './segment_words.ts'

type Person = Wire<Contact>

const segments = listPage<Wire<ListedSegment>>({
  ...{ path: '/segments', title: 'Segments', operation: 'listSegments' },
  columns: async visit => {
    const domains = await findDomains(visit)
    return [
      { title: 'Name', cell: ({ name }) => name },
      { title: 'Domain', cell: ({ audience_id }) => unicodeDomain(nameOfDomain(domains, audience_id) ?? '') },
      { title: 'Created', cell: ({ created_at }) => time(created_at) },
    ]
  },
  empty: async visit => [
    'No segments yet. Create one:',
    curl(visit, 'POST', '/segments', { name: 'Gold', domain: (await exampleDomain(visit)).name }),
  ],
  below: async visit =>
    section(
      'New segment',
      form(visit, {
        ...{ action: '/segments', submit: 'Create', extra: await rulesHtml(visit, null) },
        fields: [
          { name: 'name', label: 'Name', required: true },
          { name: 'domain', label: 'Domain', type: 'select', options: await domainOptions(visit) },
          ...filterFields(),
        ],
      }),
    ),
})

const segment = recordPage<Wire<Segment>>('/segments/:id', 'getSegment', async (found, visit) => {
  const members = await visit.call<List<Person>>('listSegmentContacts', {
    params: idOf(visit),
    query: listQuery(visit),
  })
  const isGeneral = found.id === found.audience_id
  return {
    title: found.name,
    isLive: found.contacts_count === null,
    actions: html`${isGeneral || !visit.mayChange ? '' : html`<a href="/segments/${found.id}/edit">Edit</a>`}`,
    body: html`${facts([
      ['Contacts', found.contacts_count === null ? 'not counted yet' : count(found.contacts_count)],
      ['Counted', found.counted_at ? time(found.counted_at) : null],
    ])}
${section('Conditions', html`${criteriaWords(visit, found)}${foldedJson({ filter: found.filter, rules: found.rules }, 'the conditions')}`)}
${section(
  'Contacts',
  table({
    ...{ caption: 'Contacts in this segment', rows: members.data, link: ({ id }: Person) => `/contacts/${id}` },
    columns: [
      { title: 'Email', cell: ({ email }: Person) => unicodeDomain(email) },
      { title: 'Status', cell: ({ unsubscribed }: Person) => badge(unsubscribed ? 'unsubscribed' : 'subscribed') },
    ],
    empty: empty('No contacts in this segment.'),
  }),
)}
${pager(visit, members)}
${isGeneral ? '' : confirmButton(visit, `/segments/${found.id}/delete`, 'Delete', 'Only the segment is deleted. Its contacts are kept.')}`,
  }
})

/** A page of its own, since the page of a segment reloads itself while its contacts are counted. */
const segmentEditor = recordPage<Wire<Segment>>('/segments/:id/edit', 'getSegment', async (found, visit) => ({
  title: `Edit ${found.name}`,
  body: form(visit, {
    ...{ action: `/segments/${found.id}`, submit: 'Save', extra: await rulesHtml(visit, found.rules) },
    fields: [{ name: 'name', label: 'Name', required: true, value: found.name }, ...filterFields(found)],
  }),
}))

export const segmentRoom: Room = {
  pages: [segments, segment, segmentEditor],
  actions: [
    action('/segments', segments, async (visit, form) => {
      const body = { name: form.text('name'), domain: form.text('domain'), ...(await readCriteria(visit, form)) }
      const { id } = await visit.call<Wire<Segment>>('createSegment', { body })
      return { to: `/segments/${id}`, notice: 'Segment created.' }
    }),
    action('/segments/:id', segmentEditor, async (visit, form) => {
      const body = { name: form.text('name'), ...(await readCriteria(visit, form)) }
      await visit.call('updateSegment', { params: idOf(visit), body })
      return { to: `/segments/${idOf(visit).id}`, notice: 'Segment saved.' }
    }),
    action('/segments/:id/delete', segment, async visit => {
      await visit.call('deleteSegment', { params: idOf(visit) })
      return { to: '/segments', notice: 'Segment deleted.' }
    }),
  ],
}
