import type { Contact } from '#sql/contacts/contacts.ts'
import type { ListedSegment, Segment } from '#sql/segments/segment_records.ts'
import type { Topic } from '#sql/topics/topics.ts'
import { html } from '#web/html.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, facts, preformatted, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { domainOptions, exampleDomain } from '#web/pages/domains/own_domains.ts'
import { action, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Person = Wire<Contact>

const segments = listPage<Wire<ListedSegment>>({
  ...{ path: '/segments', title: 'Segments', operation: 'listSegments' },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Created', cell: ({ created_at }) => time(created_at) },
  ],
  empty: async visit => [
    'There are no segments.',
    curl(visit, 'POST', '/segments', { name: 'Gold', domain: (await exampleDomain(visit)).name }),
  ],
  below: async visit =>
    section(
      'New segment',
      form(visit, {
        ...{ action: '/segments', submit: 'Create' },
        fields: [
          { name: 'name', label: 'Name', required: true },
          {
            name: 'domain',
            label: 'Domain',
            type: 'select',
            options: await domainOptions(visit),
          },
          {
            name: 'rules',
            label: 'Rules',
            type: 'textarea',
            rows: 5,
            hint: 'As JSON: {"field":"properties.plan","operator":"eq","value":"gold"}. Empty: all contacts.',
          },
        ],
      }),
    ),
})

const segment = recordPage<Wire<Segment>>('/segments/:id', 'getSegment', async (found, visit) => {
  const members = await visit.ask<List<Person>>('listSegmentContacts', { params: idOf(visit), query: listQuery(visit) })
  return {
    title: found.name,
    body: html`${facts([
      ['Contacts', found.contacts_count === null ? 'not counted yet' : count(found.contacts_count)],
      ['Counted', found.counted_at ? time(found.counted_at) : null],
    ])}
${section('Conditions', preformatted(JSON.stringify({ filter: found.filter, rules: found.rules }, null, 2), 'Conditions'))}
${section(
  'Contacts',
  table({
    ...{ caption: 'Contacts in this segment', rows: members.data, link: ({ id }: Person) => `/contacts/${id}` },
    columns: [
      { title: 'Email', cell: ({ email }: Person) => email },
      { title: 'State', cell: ({ unsubscribed }: Person) => badge(unsubscribed ? 'unsubscribed' : 'subscribed') },
    ],
    empty: empty('Nobody is in it.'),
  }),
)}
${pager(visit, members)}
${confirmButton(visit, `/segments/${found.id}/delete`, 'Delete', 'Its contacts stay.')}`,
  }
})

const topics = listPage<Wire<Topic>>({
  ...{ path: '/topics', title: 'Topics', operation: 'listTopics', hasPages: false },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Description', cell: ({ description }) => description ?? '' },
    { title: 'By default', cell: ({ default_subscription }) => default_subscription.replace('_', ' ') },
    { title: 'Shown to contacts', cell: ({ visibility }) => visibility },
  ],
  empty: visit => [
    'There are no topics.',
    curl(visit, 'POST', '/topics', { name: 'News', default_subscription: 'opt_in' }),
  ],
  below: visit =>
    section(
      'New topic',
      form(visit, {
        ...{ action: '/topics', submit: 'Create' },
        fields: [
          { name: 'name', label: 'Name', required: true },
          { name: 'description', label: 'Description' },
          {
            name: 'default_subscription',
            label: 'Contacts who did not choose',
            type: 'select',
            options: [
              ['opt_in', 'get it'],
              ['opt_out', 'do not get it'],
            ],
          },
        ],
      }),
    ),
})

export const segmentRoom: Room = {
  pages: [segments, segment, topics],
  actions: [
    action('/segments', segments, async (visit, form) => {
      const body = { name: form.text('name'), domain: form.text('domain'), rules: form.json('rules') }
      const { id } = await visit.ask<Wire<Segment>>('createSegment', { body })
      return { to: `/segments/${id}`, notice: 'The segment is created.' }
    }),
    action('/segments/:id/delete', segment, async visit => {
      await visit.ask('deleteSegment', { params: idOf(visit) })
      return { to: '/segments', notice: 'The segment is deleted.' }
    }),
    action('/topics', topics, async (visit, form) => {
      const subscription = form.text('default_subscription')
      const body = {
        name: form.text('name'),
        description: form.given('description'),
        default_subscription: subscription,
      }
      await visit.ask('createTopic', { body })
      return { to: '/topics', notice: 'The topic is created.' }
    }),
  ],
}
