import { ApiError } from '#lib/errors.ts'
import { count, counted, unicodeDomain } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { type Action, action, type Visit } from '#web/request/visit.ts'
import { email } from './email.ts'
import { emails } from './emails.ts'

/** Operations on one email, with the notice after each. */
const ACTIONS: Record<string, [operation: string, notice: string]> = {
  'try-now': ['tryEmailNow', 'Trying to deliver the email now.'],
  cancel: ['cancelEmail', 'Email canceled.'],
  retry: ['retryEmail', 'The email will be sent again.'],
  release: ['releaseEmail', 'Email marked as delivered.'],
  drop: ['dropEmail', 'Email marked as failed.'],
}

export const emailActions: Action[] = [
  action('/emails/selected', emails, async (visit, form) => {
    const [operation] = ACTIONS[form.text('operation')] ?? []
    if (!operation)
      throw new ApiError('validation_error', `\`operation\` must be one of ${Object.keys(ACTIONS).join(', ')}.`)
    const ids = form.all(form.has('all') ? 'shown' : 'id')
    const notice = ids.length === 0 ? 'Select at least one email first.' : await callForEach(visit, operation, ids)
    return { to: `/emails?${new URLSearchParams(form.text('back'))}`, notice }
  }),
  ...Object.entries(ACTIONS).map(([name, [operation, notice]]) =>
    action(`/emails/:id/${name}`, email, async visit => {
      await visit.call(operation, { params: idOf(visit) })
      return { to: `/emails/${idOf(visit).id}`, notice }
    }),
  ),
  action('/emails/:id/suppress', email, async (visit, form) => {
    const address = form.text('email')
    await visit.call('createSuppression', { body: { email: address } })
    return { to: `/emails/${idOf(visit).id}`, notice: `${unicodeDomain(address)} is suppressed.` }
  }),
]

/** Calls the operation for each email. Returns a notice: how many succeeded, and the errors of the others. */
async function callForEach(visit: Visit, operation: string, ids: string[]): Promise<string> {
  const errors: string[] = []
  for (const id of ids) {
    try {
      await visit.call(operation, { params: { id } })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      errors.push(error.message)
    }
  }
  const done = `Done for ${count(ids.length - errors.length)} of ${counted(ids.length, 'email')}.`
  return [done, ...new Set(errors)].join(' ')
}
