import type { Consent } from '#sql/contacts/consents.ts'
import type { Contact } from '#sql/contacts/contacts.ts'
import type { ListedSegment } from '#sql/segments/segment_records.ts'
import type { ContactTopic } from '#sql/topics/contact_topics.ts'
import { type Html, html } from '#web/html.ts'
import { button, form } from '#web/layout/form.ts'
import { empty, type List, table } from '#web/layout/list.ts'
import { badge, section, time } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { listAll } from '#web/request/call_api.ts'
import { type Action, action, type Page, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<Contact> & { consents: Wire<Consent>[] }
type Topic = Wire<ContactTopic>
type Group = Wire<ListedSegment>

const subscribed = (subscription: string) => (subscription === 'opt_in' ? 'subscribed' : 'unsubscribed')

/** The topics of a contact, its opt-ins and opt-outs, and its segments, with forms that change them. */
export async function contactGroups(visit: Visit, person: Row): Promise<Html> {
  const { data: topics } = await visit.call<List<Topic>>('listContactTopics', { params: idOf(visit) })
  return html`${topics.length > 0 ? section('Topics', topicsTable(visit, person, topics)) : ''}
${person.consents.length > 0 ? section('Opt-ins and opt-outs', consentsTable(person, topics)) : ''}
${section('Segments', await segmentsHtml(visit, person))}`
}

function topicsTable(visit: Visit, { id, unsubscribed }: Row, rows: Topic[]): Html {
  const change = ({ id: topic_id, subscription }: Topic) => {
    const values = { topic_id, subscription: subscription === 'opt_in' ? 'opt_out' : 'opt_in' }
    return button(visit, `/contacts/${id}/topics`, subscription === 'opt_in' ? 'Opt out' : 'Opt in', { values })
  }
  const columns = [
    { title: 'Topic', cell: ({ name }: Topic) => name },
    { title: 'Status', cell: ({ subscription }: Topic) => badge(subscribed(subscription)) },
    {
      title: 'Chosen by the contact',
      cell: ({ choice }: Topic) => (choice ? subscribed(choice) : 'no, the default applies'),
    },
  ]
  const canChange = visit.mayChange && !unsubscribed
  return html`${unsubscribed ? html`<p>The contact has unsubscribed, and gets no topic.</p>` : ''}
${table({
  ...{ caption: 'Topics, newest first', rows, empty: html`` },
  columns: canChange ? [...columns, { title: 'Change', cell: change }] : columns,
})}`
}

function consentsTable({ consents }: Row, topics: Topic[]): Html {
  type Choice = (typeof consents)[number]
  const nameOf = (id: string) => topics.find(one => one.id === id)?.name ?? 'a deleted topic'
  return table({
    ...{ caption: 'The newest 100', rows: consents, empty: html`` },
    columns: [
      { title: 'Time', cell: ({ created_at }: Choice) => time(created_at) },
      { title: 'Choice', cell: ({ subscription }: Choice) => badge(subscribed(subscription)) },
      { title: 'Of', cell: ({ topic_id }: Choice) => (topic_id ? nameOf(topic_id) : 'all campaigns') },
      { title: 'By', cell: ({ how }: Choice) => how.replace('_', ' ') },
      { title: 'IP address', cell: ({ client_address }: Choice) => client_address ?? '' },
    ],
  })
}

/** The segment that all contacts of the domain are in is left out: it has the id of the domain. */
async function segmentsHtml(visit: Visit, { id, domain_id }: Row): Promise<Html> {
  const { data } = await visit.call<List<Group>>('listContactSegments', { params: idOf(visit) })
  const rows = data.filter(one => one.id !== domain_id)
  const others = visit.mayChange
    ? (await listAll<Group>(visit.call, 'listSegments')).filter(
        one => one.audience_id === domain_id && one.id !== domain_id && !rows.some(row => row.id === one.id),
      )
    : []
  const remove = {
    title: 'Remove',
    cell: ({ id: segment_id }: Group) =>
      button(visit, `/contacts/${id}/segments/remove`, 'Remove', { values: { segment_id } }),
  }
  const name = { title: 'Name', cell: ({ name }: Group) => name }
  const options = others.map(one => [one.id, one.name] as const)
  const field = { name: 'segment_id', label: 'Segment', type: 'select', options } as const
  return html`${table({
    ...{ caption: 'By conditions or by hand, newest first', rows, empty: empty('Not in any segment.') },
    ...{
      columns: visit.mayChange ? [name, remove] : [name],
      link: ({ id: segment_id }: Group) => `/segments/${segment_id}`,
    },
  })}
${others.length > 0 ? form(visit, { action: `/contacts/${id}/segments`, submit: 'Add to the segment', fields: [field] }) : ''}`
}

/** The actions of the forms above. `page` has these forms. */
export function contactGroupActions(page: Page): Action[] {
  const back = (visit: Visit, notice: string) => ({ to: `/contacts/${idOf(visit).id}`, notice })
  return [
    action('/contacts/:id/topics', page, async (visit, form) => {
      const topics = [{ id: form.text('topic_id'), subscription: form.text('subscription') }]
      await visit.call('updateContactTopics', { params: idOf(visit), body: { topics } })
      return back(visit, 'Topic changed.')
    }),
    action('/contacts/:id/segments', page, async (visit, form) => {
      await visit.call('addContactToSegment', { params: { ...idOf(visit), segment_id: form.text('segment_id') } })
      return back(visit, 'Added to the segment.')
    }),
    action('/contacts/:id/segments/remove', page, async (visit, form) => {
      await visit.call('removeContactFromSegment', { params: { ...idOf(visit), segment_id: form.text('segment_id') } })
      return back(visit, 'Removed from the segment.')
    }),
  ]
}
