import type { ListedWebhookEvent } from '#sql/webhooks/history.ts'
import type { Webhook } from '#sql/webhooks/webhooks.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { button, confirmButton, form, shownValue } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, copyable, counted, facts, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import type { Form } from '#web/request/form.ts'
import { action, type PageContent, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { webhookEvent } from './event.ts'

type Hook = Wire<Webhook>
type Event = Wire<ListedWebhookEvent>
type Secret = { id: string; signing_secret: string }

const webhooks = listPage<Hook>({
  ...{ path: '/webhooks', title: 'Webhooks', operation: 'listWebhooks' },
  columns: [
    { title: 'Endpoint', cell: ({ endpoint }) => endpoint },
    { title: 'Status', cell: ({ status }) => badge(status) },
    { title: 'Failures', cell: ({ failure_count }) => failure_count },
    { title: 'Last delivery', cell: ({ last_delivery_at }) => time(last_delivery_at) },
  ],
  empty: visit => [
    'No webhooks yet. Add one:',
    curl(visit, 'POST', '/webhooks', { endpoint: 'https://acme.com/hook', events: ['email.delivered'] }),
  ],
  below: visit =>
    section(
      'Add a webhook',
      form(visit, { action: '/webhooks', submit: 'Add webhook', isSecret: true, fields: fieldsOf() }),
    ),
})

const ROTATION = 'Events are signed with the new secret from then on. The previous one cannot be used again.'

const webhook = recordPage<Hook>('/webhooks/:id', 'getWebhook', async (hook, visit) => {
  const events = await visit.call<List<Event>>('listWebhookEvents', { params: idOf(visit), query: listQuery(visit) })
  const path = `/webhooks/${hook.id}`
  return {
    title: hook.endpoint,
    actions: button(visit, `${path}/test`, 'Send a test'),
    body: html`${facts([
      ['Status', badge(hook.status)],
      ['Reason', hook.disabled_reason],
      ['Failures', hook.failure_count],
      ['Last delivery', time(hook.last_delivery_at)],
      ['Last response', hook.last_delivery_status === null ? null : String(hook.last_delivery_status)],
    ])}
${section('Deliveries', html`${eventsTable(path, events.data, visit)}${pager(visit, events)}`)}
${visit.mayChange ? section('Replay events', form(visit, { action: `${path}/replay`, submit: 'Replay', fields: RANGE })) : ''}
${section('Edit', form(visit, { action: path, submit: 'Save', fields: fieldsOf(hook), extra: shownValue(visit, 'shown_status', hook.status) }))}
${confirmButton(visit, `${path}/rotate`, 'Rotate signing secret', ROTATION, { isSecret: true })}
${confirmButton(visit, `${path}/delete`, 'Delete', 'It will no longer receive events.')}`,
  }
})

function eventsTable(path: string, rows: Event[], visit: Visit) {
  return table({
    ...{ caption: 'Events, newest first', rows, link: ({ id }: Event) => `${path}/events/${id}` },
    columns: [
      { title: 'Event', cell: ({ type }: Event) => html`<code>${type}</code>` },
      { title: 'Status', cell: ({ status }: Event) => badge(status) },
      { title: 'Created', cell: ({ created_at }: Event) => time(created_at) },
      { title: 'Replay', cell: ({ id }: Event) => button(visit, `${path}/events/${id}/replay`, 'Replay') },
    ],
    empty: empty('No events yet.'),
  })
}

function fieldsOf(hook?: Hook): Field[] {
  return [
    { name: 'endpoint', label: 'Endpoint', type: 'url', required: true, value: hook?.endpoint },
    {
      ...{ name: 'events', label: 'Events', type: 'textarea', rows: 4, value: hook?.events.join('\n') ?? '*' },
      hint: 'One per line. Use * for all events.',
    },
    ...(hook
      ? [{ name: 'enabled', label: 'Enabled', type: 'checkbox' as const, value: hook.status === 'enabled' }]
      : []),
  ]
}

const RANGE: Field[] = [
  { name: 'from', label: 'From (UTC)', type: 'datetime-local', required: true },
  { name: 'to', label: 'To (UTC)', type: 'datetime-local', hint: 'Default: now.' },
  {
    ...{ name: 'status', label: 'Status', type: 'select' },
    options: [
      ['failed', 'failed'],
      ['success', 'succeeded'],
    ],
  },
]

const readWebhook = (form: Form) => ({ endpoint: form.text('endpoint'), events: form.list('events') })

function secretPage({ id, signing_secret }: Secret): PageContent {
  return {
    title: 'Signing secret',
    body: html`<p>Your endpoint verifies signatures with this secret. Copy it now. It will not be shown again.</p>
<p>${copyable(signing_secret, 'the secret')}</p><p><a href="/webhooks/${id}">Back to the webhook</a></p>
<p><a href="/docs/webhooks">How to verify a signature</a></p>`,
  }
}

export const webhookRoom: Room = {
  pages: [webhooks, webhook, webhookEvent],
  actions: [
    action('/webhooks', webhooks, async (visit, form) =>
      secretPage(await visit.call<Secret>('createWebhook', { body: readWebhook(form) })),
    ),
    action('/webhooks/:id', webhook, async (visit, form) => {
      const status = form.has('enabled') ? 'enabled' : 'disabled'
      // Sent only if it is changed: it resets the failures, and the webhook may have been disabled since the page was shown.
      const change = status === form.text('shown_status') ? {} : { status }
      await visit.call('updateWebhook', { params: idOf(visit), body: { ...readWebhook(form), ...change } })
      return { to: `/webhooks/${idOf(visit).id}`, notice: 'Webhook updated.' }
    }),
    action('/webhooks/:id/test', webhook, async visit => {
      const { ok, status, error } = await visit.call<{ ok: boolean; status: number; error?: string }>('testWebhook', {
        params: idOf(visit),
      })
      const notice = ok ? `The endpoint responded with ${status}.` : `The test failed: ${error ?? status}`
      return { to: `/webhooks/${idOf(visit).id}`, notice }
    }),
    action('/webhooks/:id/rotate', webhook, async visit => {
      const { signing_secret } = await visit.call<Secret>('rotateSigningSecret', { params: idOf(visit) })
      return secretPage({ ...idOf(visit), signing_secret })
    }),
    action('/webhooks/:id/replay', webhook, async (visit, form) => {
      const [from, to] = [form.text('from'), form.optional('to')].map(text => text && `${text}Z`)
      const body = { from, to, status: form.optional('status') }
      const { replayed } = await visit.call<{ replayed: number }>('replayWebhookEvents', { params: idOf(visit), body })
      return { to: `/webhooks/${idOf(visit).id}`, notice: `Replaying ${counted(replayed, 'event')}.` }
    }),
    action('/webhooks/:id/events/:event_id/replay', webhook, async visit => {
      await visit.call('replayWebhookEvent', { params: visit.params })
      return { to: `/webhooks/${idOf(visit).id}`, notice: 'Event replayed.' }
    }),
    action('/webhooks/:id/delete', webhook, async visit => {
      await visit.call('deleteWebhook', { params: idOf(visit) })
      return { to: '/webhooks', notice: 'Webhook deleted.' }
    }),
  ],
}
