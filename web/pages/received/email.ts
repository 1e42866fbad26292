import { buffer } from 'node:stream/consumers'
import { orNotFound } from '#lib/errors.ts'
import { findReceivedAttachment } from '#sql/receiving/received_attachments.ts'
import type { ReceivedEmail } from '#sql/receiving/received_email_list.ts'
import { type Html, html } from '#web/html.ts'
import { confirmButton, form, hidden } from '#web/layout/form.ts'
import { badge, facts, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { mailContent } from '#web/pages/mail/content.ts'
import { respondMail } from '#web/pages/mail/preview.ts'
import { file, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { thread } from './thread.ts'
import { checksTable } from './verdicts.ts'

type Found = Wire<ReceivedEmail>

/** A received email. Opening the page marks it as read. */
export const receivedEmail = recordPage<Found>('/received/:id', 'getReceivedEmail', async (found, visit) => {
  if (!found.read && isOpened(visit)) await visit.call('markReceivedEmailRead', { params: idOf(visit) })
  const { id, subject, category, attachments = [] } = found
  const path = `/received/${id}`
  return {
    title: subject || '(no subject)',
    ...(category ? { actions: badge(category) } : {}),
    body: html`${details(found)}
${mailContent(visit, {
  ...{ path, html: found.html, text: found.text, headers: found.headers, raw: found.raw_url ?? null },
  files: attachments.map(({ filename, url, size }) => ({ name: filename, path: url ?? null, size })),
})}
${replyForms(visit, found)}
${await thread(visit, found)}
${checksTable(found)}
${confirmButton(visit, `${path}/delete`, 'Delete', 'The email and its attachments will be permanently deleted.')}`,
  }
})

/** False for view-only members, who change nothing, and for pages that the browser prefetches. */
function isOpened({ ctx, mayChange }: Visit): boolean {
  const purposes = [ctx.get('x-sec-purpose'), ctx.get('sec-purpose')]
  return mayChange && ctx.method === 'GET' && !purposes.some(purpose => purpose.includes('prefetch'))
}

/** The HTML of a received email, for its frame. */
export const receivedPreview = file('/received/:id/preview', async visit => {
  const found = await visit.call<Found>('getReceivedEmail', { params: idOf(visit) })
  const { account_id } = visit.session
  const inlines = (found.attachments ?? []).map(one => ({
    ...one,
    content_id: one.downloadable ? one.content_id : null,
    read: async () => {
      const stored = await findReceivedAttachment(visit.ctx.pool, { account_id, id: found.id }, one.id)
      return buffer(visit.ctx.blobs.read(account_id, orNotFound('Attachment', stored).blob_id))
    },
  }))
  await respondMail(visit, orNotFound('Email', found.html), inlines)
})

function details({
  from,
  from_name,
  to,
  cc = [],
  reply_to = [],
  received_for = [],
  mail_from,
  created_at,
}: Found): Html {
  return facts([
    ['From', from_name ? `${from_name} <${from}>` : from],
    ['To', to.join(', ')],
    ['Cc', cc.join(', ')],
    ['Reply-To', reply_to.join(', ')],
    ['Received', time(created_at)],
    ['Received for', received_for.join(', ')],
    ['Envelope sender', mail_from || 'none (a bounce or another automatic message)'],
  ])
}

/** Forms to reply and to forward. Submitting a form twice sends one email. */
function replyForms(visit: Visit, { id, received_for = [] }: Found): Html {
  if (!visit.mayChange) return html``
  const extra = hidden('key', crypto.randomUUID())
  return html`${section(
    'Reply',
    form(visit, {
      ...{ action: `/received/${id}/reply`, submit: 'Reply', extra, key: 'r' },
      fields: [
        { name: 'from', label: 'From', required: true, value: received_for[0] },
        { name: 'text', label: 'Message', type: 'textarea', required: true },
        { name: 'reply_all', label: 'Reply to all recipients', type: 'checkbox' },
      ],
    }),
  )}
${section(
  'Forward',
  form(visit, {
    ...{ action: `/received/${id}/forward`, submit: 'Forward', extra },
    fields: [
      { name: 'to', label: 'To', required: true, hint: 'One or more addresses, separated by commas.' },
      {
        ...{ name: 'note', label: 'Note', type: 'textarea', rows: 3 },
        hint: 'With a note, the original email is attached. Without a note, its content is forwarded.',
      },
    ],
  }),
)}`
}
