import type { WebhookAttempt, WebhookEvent } from '#sql/webhooks/history.ts'
import { html } from '#web/html.ts'
import { button } from '#web/layout/form.ts'
import { empty, type List, table } from '#web/layout/list.ts'
import { badge, facts, linkButton, preformatted, section, time } from '#web/layout/parts.ts'
import { recordPage } from '#web/layout/record_page.ts'
import type { Wire } from '#web/request/wire.ts'

type Event = Wire<WebhookEvent>
type Attempt = Wire<WebhookAttempt>

const PATH = '/webhooks/:id/events/:event_id'

/** An event of a webhook: the attempts to deliver it, with the responses, and its payload. */
export const webhookEvent = recordPage<Event>(PATH, 'getWebhookEvent', async (event, visit) => {
  const { params } = visit
  const { data } = await visit.call<List<Attempt>>('listWebhookAttempts', { params, query: { limit: '50' } })
  const path = `/webhooks/${params.id}`
  return {
    title: event.type,
    actions: html`${linkButton(path, 'Back to the webhook')} ${button(visit, `${path}/events/${event.id}/replay`, 'Replay')}`,
    body: html`${facts([
      ['Status', badge(event.status)],
      ['Created', time(event.created_at)],
      ['Next attempt', event.next_attempt_at && time(event.next_attempt_at)],
      ['ID', event.id],
    ])}
${section('Attempts', attemptsTable(data))}
${section('Payload', preformatted(JSON.stringify(event.payload, null, 2), 'Payload'))}`,
  }
})

function attemptsTable(rows: Attempt[]) {
  return table({
    ...{ caption: 'Latest attempts', rows, empty: empty('No attempts yet.') },
    columns: [
      { title: 'Attempt', cell: ({ attempt }: Attempt) => attempt },
      { title: 'Status', cell: ({ http_status_code: status }: Attempt) => (status === 0 ? 'no response' : status) },
      { title: 'Response', cell: ({ error, response }: Attempt) => html`${error ?? ''} <code>${response}</code>` },
      { title: 'Duration', cell: ({ ms }: Attempt) => `${ms} ms` },
      { title: 'Time', cell: ({ sent_at }: Attempt) => time(sent_at) },
    ],
  })
}
