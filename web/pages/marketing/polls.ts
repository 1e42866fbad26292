import type { ListedPoll, Poll } from '#sql/polls/poll_records.ts'
import { html } from '#web/html.ts'
import { bars } from '#web/layout/charts.ts'
import { empty, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { count, facts, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { recordPage } from '#web/layout/record_page.ts'
import type { Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Response = Wire<Poll>['responses'][number]

const polls = listPage<Wire<ListedPoll>>({
  ...{ path: '/polls', title: 'Polls', operation: 'listPolls' },
  columns: [
    { title: 'Question', cell: ({ question }) => question },
    { title: 'Responses', cell: ({ responses_count }) => count(responses_count) },
    { title: 'Created', cell: ({ created_at }) => time(created_at) },
  ],
  empty: () => ['No polls yet. Emails and campaigns with a poll are listed here.'],
})

const poll = recordPage<Wire<Poll>>('/polls/:id', 'getPoll', found => ({
  title: found.question,
  body: html`${facts([
    ['Sent to', count(found.sent_count)],
    ['Responses', count(found.responses_count)],
  ])}
${section('Results', bars({ caption: 'Latest answer of each recipient', rows: found.answers.map(({ label, count }) => ({ name: label, value: count, tone: 'good' })), total: found.responses_count }))}
${section(
  'Responses',
  table({
    ...{ caption: 'Newest first', rows: found.responses, empty: empty('No responses yet.') },
    link: ({ contact_id }: Response) => (contact_id ? `/contacts/${contact_id}` : '/contacts'),
    columns: [
      { title: 'Email', cell: ({ email }: Response) => unicodeDomain(email) },
      { title: 'Answer', cell: ({ answer }: Response) => answer },
      { title: 'Time', cell: ({ answered_at }: Response) => time(answered_at) },
    ],
  }),
)}`,
}))

export const pollRoom: Room = { pages: [polls, poll], actions: [] }
