import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { ApiError } from '#lib/errors.ts'
import { UploadedContent } from '#lib/files/upload/uploaded_content.ts'
import { findStoredAttachment } from '#sql/sending/attachments.ts'
import type { Email } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { form, hidden } from '#web/layout/form.ts'
import { unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { type Action, action, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Found = Wire<Email>

const SETTLED = ['sent', 'delivered', 'delivery_delayed', 'bounced', 'complained', 'failed', 'canceled', 'suppressed']

/** False for emails of campaigns and automations, which have their own recipients, and for emails whose content is deleted. */
export function canSendAgain({ mayChange }: Visit, found: Found): boolean {
  const isOwn = found.campaign_id === null && found.automation_id === null
  return mayChange && isOwn && SETTLED.includes(found.status) && (found.html !== null || found.text !== null)
}

/** A form for a new email with the content of another one. Submitting it twice sends one email. */
export const sendAgainPage = recordPage<Found>('/emails/:id/again', 'getEmail', (found, visit) => {
  const title = `Send again: ${found.subject || '(no subject)'}`
  const back = html`<p><a href="/emails/${found.id}">Back to the email</a></p>`
  if (!canSendAgain(visit, found)) return { title, body: html`<p>This email cannot be sent again.</p>${back}` }
  const listed = (list: string[]) => list.map(unicodeDomain).join('\n')
  const lines = { type: 'textarea', rows: 2, hint: 'One address per line.' } as const
  const files = found.attachments.map(({ filename }) => filename).join(', ')
  const fields: Field[] = [
    { name: 'from', label: 'From', value: unicodeDomain(found.from), required: true },
    { name: 'to', label: 'To', value: listed(found.to), required: true, ...lines },
    { name: 'cc', label: 'Cc', value: listed(found.cc), ...lines },
    { name: 'bcc', label: 'Bcc', value: listed(found.bcc), ...lines },
    { name: 'reply_to', label: 'Reply-To', value: listed(found.reply_to), ...lines },
    { name: 'subject', label: 'Subject', value: found.subject },
    { name: 'html', label: 'HTML', type: 'textarea', value: found.html },
    { name: 'text', label: 'Text', type: 'textarea', value: found.text },
    ...(files
      ? [{ name: 'attachments', label: 'Include attachments', type: 'checkbox', value: true, hint: files } as const]
      : []),
  ]
  const extra = hidden('key', visit.problem?.form.text('key') || crypto.randomUUID())
  const parts = { action: `/emails/${found.id}/again`, submit: 'Send as a new email', fields, extra }
  return { title, body: html`${form(visit, parts)}${back}` }
})

export const sendAgainAction: Action = action('/emails/:id/again', sendAgainPage, async (visit, form) => {
  const found = await visit.call<Found>('getEmail', { params: idOf(visit) })
  if (!canSendAgain(visit, found)) throw new ApiError('validation_error', 'This email cannot be sent again.')
  const body = {
    ...{ from: form.text('from'), subject: form.text('subject'), reply_to: form.lines('reply_to') },
    ...{ to: form.lines('to'), cc: form.lines('cc'), bcc: form.lines('bcc') },
    ...{ html: form.raw('html') || null, text: form.raw('text') || (found.text === '' ? '' : null) },
    ...{ headers: found.headers, tags: found.tags, topic_id: found.topic_id },
    attachments: form.has('attachments') ? await attachmentsOf(visit, found) : [],
  }
  const { id } = await visit.call<{ id: string }>('sendEmail', { body, idempotency_key: form.text('key') })
  return { to: `/emails/${id}`, notice: 'This is the new email. It will be sent shortly.' }
})

async function attachmentsOf({ ctx, session: { account_id } }: Visit, { id, attachments }: Found) {
  return Promise.all(
    attachments.map(async file => {
      const { filename, content_type, content_disposition, content_id } = file
      const stored = await findStoredAttachment(ctx.pool, { account_id, id }, file.id)
      if (!stored)
        throw new ApiError(
          'validation_error',
          `The attachment ${JSON.stringify(filename)} is not stored: it was never fetched.`,
        )
      const bytes = await buffer(ctx.blobs.read(account_id, stored.blob_id))
      const content = new UploadedContent(createHash('sha256').update(bytes).digest('hex'), bytes.length, { bytes })
      return { filename, content_type, content_disposition, content_id, content }
    }),
  )
}
