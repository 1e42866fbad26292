import { buffer } from 'node:stream/consumers'
import { orNotFound } from '#lib/errors.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { findStoredAttachment } from '#sql/sending/attachments.ts'
import type { Email } from '#sql/sending/email_records.ts'
import { type Html, html } from '#web/html.ts'
import { form } from '#web/layout/form.ts'
import { table } from '#web/layout/list.ts'
import { namedRecords } from '#web/layout/named_records.ts'
import { badge, emailBadge, facts, linkButton, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { mailContent } from '#web/pages/mail/content.ts'
import { respondMail } from '#web/pages/mail/preview.ts'
import { file, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { canSendAgain } from './send_again.ts'
import { whyUndelivered } from './why_undelivered.ts'

type Found = Wire<Email>
type Event = Found['events'][number]

/** One email. The page begins with the reason why it is not delivered yet, if any. */
export const email = recordPage<Found>('/emails/:id', 'getEmail', async (found, visit) => {
  const { id, subject, status, message_id, headers, attachments } = found
  return {
    title: subject || '(no subject)',
    actions: html`${emailBadge(status)} ${canSendAgain(visit, found) ? linkButton(`/emails/${id}/again`, 'Send again') : ''}`,
    body: html`${whyUndelivered(found, visit)}
${found.events.some(({ via }) => via === 'capture') ? html`<p>${linkButton(`/captured/${id}`, 'View captured message')}</p>` : ''}
${await details(visit, found)}
${section('Events', eventsTable(found))}
${mailContent(visit, {
  ...{ path: `/emails/${id}`, html: found.html, text: found.text, headers: { 'Message-ID': message_id, ...headers } },
  files: attachments.map(one => ({
    name: one.filename,
    path: one.size === null ? null : `/api/emails/${id}/attachments/${one.id}/content`,
    size: one.size,
  })),
})}
${suppressForm(visit, found)}`,
  }
})

/** The HTML of an email, for its frame. */
export const emailPreview = file('/emails/:id/preview', async visit => {
  const found = await visit.call<Found>('getEmail', { params: idOf(visit) })
  const { account_id } = visit.session
  const inlines = found.attachments.map(one => ({
    ...one,
    read: async () => {
      const stored = await findStoredAttachment(visit.ctx.pool, { account_id, id: found.id }, one.id)
      return buffer(visit.ctx.blobs.read(account_id, orNotFound('Attachment', stored).blob_id))
    },
  }))
  await respondMail(visit, orNotFound('Email', found.html), inlines)
})

async function details(visit: Visit, found: Found): Promise<Html> {
  const { from, to, cc, bcc, reply_to, tags, contact_id, ...times } = found
  return facts([
    ['From', unicodeDomain(from)],
    ['To', to.map(unicodeDomain).join(', ')],
    ['Cc', cc.map(unicodeDomain).join(', ')],
    ['Bcc', bcc.map(unicodeDomain).join(', ')],
    ['Reply-To', reply_to.map(unicodeDomain).join(', ')],
    ...(await namedRecords(visit, found)),
    ['Contact', contact_id && html`<a href="/contacts/${contact_id}">View contact</a>`],
    ['Created', time(times.created_at)],
    ['Scheduled for', times.scheduled_at && time(times.scheduled_at)],
    ['Sent', times.sent_at && time(times.sent_at)],
    ['Tags', tags.map(({ name, value }) => `${name}: ${value}`).join(', ')],
  ])
}

function eventsTable({ events }: Found): Html {
  return table({
    ...{ caption: 'Events, oldest first', rows: events, empty: html`<p>No events yet.</p>` },
    columns: [
      { title: 'Event', cell: ({ type }: Event) => badge(type) },
      { title: 'Time', cell: ({ created_at }: Event) => time(created_at) },
      { title: 'Recipient', cell: ({ recipient }: Event) => unicodeDomain(recipient ?? '') },
      { title: 'Details', cell: detailsOf },
    ],
  })
}

/** The reply of the server, the reason for a failure, or a link to the reply of a recipient. */
function detailsOf({ reply, reason, via, received_email_id }: Event): Html | string {
  if (typeof received_email_id === 'string') return html`<a href="/received/${received_email_id}">View reply</a>`
  if (reply) return html`<code>${reply}</code>`
  return reason ?? (via ? `by ${via}` : '')
}

function suppressForm(visit: Visit, { id, to, cc, bcc }: Found): Html {
  if (!visit.mayChange) return html``
  const addresses = [...new Set([...to, ...cc, ...bcc].map(addressOf))].map(one => [one, unicodeDomain(one)] as const)
  return section(
    'Suppress a recipient',
    form(visit, {
      ...{ action: `/emails/${id}/suppress`, submit: 'Suppress', isDangerous: true },
      fields: [{ name: 'email', label: 'Recipient', type: 'select', options: addresses }],
    }),
  )
}

function addressOf(recipient: string): string {
  return parseAddress(recipient)?.address ?? recipient
}
