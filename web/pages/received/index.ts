import { idOf } from '#web/layout/record_page.ts'
import type { Form } from '#web/request/form.ts'
import { action, type Redirect, type Room, type Visit } from '#web/request/visit.ts'
import { receivedEmail, receivedPreview } from './email.ts'
import { received } from './received.ts'

export const receivedRoom: Room = {
  pages: [received, receivedEmail],
  files: [receivedPreview],
  actions: [
    action('/received/:id/reply', receivedEmail, (visit, form) => {
      const body = { from: form.text('from'), text: form.raw('text'), reply_all: form.has('reply_all') }
      return sendMail(visit, form, 'replyToReceivedEmail', body)
    }),
    action('/received/:id/forward', receivedEmail, (visit, form) => {
      const note = form.raw('note').trim() ? { text: form.raw('note'), passthrough: false } : {}
      return sendMail(visit, form, 'forwardReceivedEmail', { to: form.addresses('to'), ...note })
    }),
    action('/received/:id/delete', receivedEmail, async visit => {
      await visit.call('deleteReceivedEmail', { params: idOf(visit) })
      return { to: '/received', notice: 'Email deleted.' }
    }),
  ],
}

async function sendMail(visit: Visit, form: Form, operation: string, body: object): Promise<Redirect> {
  const request = { params: idOf(visit), body, idempotency_key: form.text('key') }
  const { id } = await visit.call<{ id: string }>(operation, request)
  return { to: `/emails/${id}`, notice: 'Email accepted. It will be sent shortly.' }
}
