import type { Email } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import { badge, count, facts, preformatted, section, time } from '#web/layout/parts.ts'
import { orNull } from '#web/request/ask.ts'
import { page } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

/** One email, and first of all why it has not arrived. */
export const email = page('/emails/:id', async visit => {
  const found = await orNull(visit.ask<Wire<Email>>('getEmail', { params: { id: visit.params.id as string } }))
  if (!found) return { title: 'Not found', status: 404, body: html`<p>There is no such email.</p>` }
  const { subject, status, from, to, created_at, text, attachments } = found
  return {
    title: subject || '(no subject)',
    body: html`${facts([
      ['Status', badge(status)],
      ['From', from],
      ['To', to.join(', ')],
      ['Created', time(created_at)],
      ['Attachments', attachments.length ? count(attachments.length) : null],
    ])}${text ? section('Text', preformatted(text, 'Text of the email')) : ''}`,
  }
})
