import type { Topic } from '#sql/topics/topics.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { curl } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { facts, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { domainOptions } from '#web/pages/domains/own_domains.ts'
import type { Form } from '#web/request/form.ts'
import { action, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<Topic>

const SUBSCRIPTIONS = { opt_in: 'subscribed', opt_out: 'not subscribed' } as const
const VISIBILITIES = { public: 'shown on the preference page', private: 'not shown on the preference page' } as const

const topics = listPage<Row>({
  ...{ path: '/topics', title: 'Topics', operation: 'listTopics' },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Description', cell: ({ description }) => description ?? '' },
    { title: 'Default subscription', cell: ({ default_subscription }) => SUBSCRIPTIONS[default_subscription] },
    { title: 'Visibility', cell: ({ visibility }) => VISIBILITIES[visibility] },
  ],
  empty: visit => [
    'No topics yet. Create one:',
    curl(visit, 'POST', '/topics', { name: 'News', default_subscription: 'opt_in', visibility: 'public' }),
  ],
  below: async visit => {
    const fields: Field[] = [
      ...fieldsOf(),
      {
        ...{ name: 'default_subscription', label: 'Default subscription', type: 'select' },
        options: Object.entries(SUBSCRIPTIONS),
        hint: 'Of contacts who have not chosen. It cannot be changed later.',
      },
      {
        ...{ name: 'domain', label: 'Contacts', type: 'select' },
        options: [['', 'of all domains'], ...(await domainOptions(visit))],
      },
    ]
    return section('New topic', form(visit, { action: '/topics', submit: 'Create', fields }))
  },
})

const topic = recordPage<Row>('/topics/:id', 'getTopic', (found, visit) => ({
  title: found.name,
  body: html`${facts([
    ['Default subscription', SUBSCRIPTIONS[found.default_subscription]],
    ['Created', time(found.created_at)],
  ])}
${form(visit, { action: `/topics/${found.id}`, submit: 'Save', fields: fieldsOf(found) })}
${confirmButton(visit, `/topics/${found.id}/delete`, 'Delete', 'The choices of contacts about it are deleted, too.')}`,
}))

/** The fields that can be changed; without values for a new topic. */
function fieldsOf(found?: Row): Field[] {
  return [
    { name: 'name', label: 'Name', required: true, value: found?.name },
    { name: 'description', label: 'Description', value: found?.description, hint: 'Recipients see it below the name.' },
    {
      ...{ name: 'visibility', label: 'Visibility', type: 'select', value: found?.visibility },
      options: Object.entries(VISIBILITIES),
    },
  ]
}

function readTopic(form: Form) {
  return {
    ...{ name: form.text('name'), description: form.textOrNull('description') },
    visibility: form.text('visibility'),
  }
}

export const topicRoom: Room = {
  pages: [topics, topic],
  actions: [
    action('/topics', topics, async (visit, form) => {
      const fixed = { default_subscription: form.text('default_subscription'), domain: form.textOrNull('domain') }
      await visit.call('createTopic', { body: { ...readTopic(form), ...fixed } })
      return { to: '/topics', notice: 'Topic created.' }
    }),
    action('/topics/:id', topic, async (visit, form) => {
      await visit.call('updateTopic', { params: idOf(visit), body: readTopic(form) })
      return { to: `/topics/${idOf(visit).id}`, notice: 'Topic saved.' }
    }),
    action('/topics/:id/delete', topic, async visit => {
      await visit.call('deleteTopic', { params: idOf(visit) })
      return { to: '/topics', notice: 'Topic deleted.' }
    }),
  ],
}
