import type { Email } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import { button } from '#web/layout/form.ts'
import { table } from '#web/layout/list.ts'
import { badge, count, facts, preformatted, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { action, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Shown = Wire<Email>
type Event = Shown['events'][number]

/** One email, and first of all why it has not arrived. */
export const email = recordPage<Shown>('/emails/:id', 'getEmail', (found, visit) => {
  const { subject, status, from, to, cc, created_at, html: markup, text, attachments, events } = found
  return {
    title: subject || '(no subject)',
    actions: badge(status),
    body: html`${why(found, visit)}
${facts([
  ['From', from],
  ['To', to.join(', ')],
  ['Copies', cc.join(', ')],
  ['Created', time(created_at)],
  ['Attachments', attachments.length ? count(attachments.length) : null],
])}
${section(
  'What happened',
  table({
    ...{ caption: 'Events, oldest first', rows: events, empty: html`<p>Nothing yet.</p>` },
    columns: [
      { title: 'Event', cell: ({ type }: Event) => badge(type) },
      { title: 'When', cell: ({ created_at }: Event) => time(created_at) },
      { title: 'Recipient', cell: ({ recipient }: Event) => recipient ?? '' },
      { title: 'Reply of the server', cell: ({ reply, reason }: Event) => reply ?? reason ?? '' },
    ],
  }),
)}
${text ? section('Text', preformatted(text, 'Text of the email')) : ''}
${markup ? section('HTML source', preformatted(markup, 'HTML of the email')) : ''}`,
  }
})

/** Recipients that are not settled, each with its reason, and what can be done about it. */
function why({ id, status, queue = [] }: Shown, visit: Visit) {
  const isDelayed = queue.some(({ state, attempts }) => state === 'queued' && attempts > 0)
  const isHeld = queue.some(({ state }) => state === 'held' || state === 'in_doubt')
  const isScheduled = status === 'scheduled'
  if (queue.length === 0 && !isScheduled) return ''
  return html`<div class="why"><h2>Why it has not arrived</h2>
<ul>${queue.map(
    ({ recipient, reason, attempts, next_attempt_at, last_reply }) => html`<li>${recipient}: ${reason}
${attempts > 0 ? html` Tried ${attempts} times.` : ''}${next_attempt_at ? html` Next attempt: ${time(next_attempt_at)}.` : ''}
${last_reply ? html` The server said: <code>${last_reply}</code>` : ''}</li>`,
  )}</ul>
${isDelayed ? button(visit, `/emails/${id}/try-now`, 'Try now') : ''}
${isScheduled ? button(visit, `/emails/${id}/cancel`, 'Cancel') : ''}
${isHeld ? ['retry', 'release', 'drop'].map(act => button(visit, `/emails/${id}/${act}`, NAMES[act] as string)) : ''}</div>`
}

const NAMES: Record<string, string> = { retry: 'Send once more', release: 'Take it for delivered', drop: 'Give it up' }

const acts: Record<string, [operation: string, notice: string]> = {
  'try-now': ['tryEmailNow', 'It is being tried.'],
  cancel: ['cancelEmail', 'The email is canceled.'],
  retry: ['retryEmail', 'The email is sent once more.'],
  release: ['releaseEmail', 'The email is taken for delivered.'],
  drop: ['dropEmail', 'The email is given up.'],
}

export const emailActions = Object.entries(acts).map(([act, [operation, notice]]) =>
  action(`/emails/:id/${act}`, email, async visit => {
    await visit.ask(operation, { params: idOf(visit) })
    return { to: `/emails/${idOf(visit).id}`, notice }
  }),
)
