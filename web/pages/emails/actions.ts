import { ApiError } from '#lib/errors.ts'
import { count } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { type Action, action, type Visit } from '#web/request/visit.ts'
import { email } from './email.ts'
import { emails } from './emails.ts'

/** Operations on one email, with what a person is told. */
const acts: Record<string, [operation: string, notice: string]> = {
  'try-now': ['tryEmailNow', 'It is being tried.'],
  cancel: ['cancelEmail', 'The email is canceled.'],
  retry: ['retryEmail', 'The email is sent once more.'],
  release: ['releaseEmail', 'The email is taken for delivered.'],
  drop: ['dropEmail', 'The email is given up.'],
}

export const emailActions: Action[] = [
  action('/emails/selected', emails, async (visit, form) => {
    const [operation] = acts[form.text('act')] ?? []
    if (!operation) throw new ApiError('validation_error', `\`act\` must be one of ${Object.keys(acts).join(', ')}.`)
    const ids = form.all('id')
    const notice = ids.length === 0 ? 'Select at least one email first.' : await actOnEach(visit, operation, ids)
    return { to: `/emails?${new URLSearchParams(form.text('back'))}`, notice }
  }),
  ...Object.entries(acts).map(([act, [operation, notice]]) =>
    action(`/emails/:id/${act}`, email, async visit => {
      await visit.ask(operation, { params: idOf(visit) })
      return { to: `/emails/${idOf(visit).id}`, notice }
    }),
  ),
  action('/emails/:id/suppress', email, async (visit, form) => {
    const address = form.text('email')
    await visit.ask('createSuppression', { body: { email: address } })
    return { to: `/emails/${idOf(visit).id}`, notice: `${address} is suppressed.` }
  }),
]

/** Does it with each email that it applies to, and tells how many these were and why the others were left alone. */
async function actOnEach(visit: Visit, operation: string, ids: string[]): Promise<string> {
  const refusals: string[] = []
  for (const id of ids) {
    try {
      await visit.ask(operation, { params: { id } })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      refusals.push(error.message)
    }
  }
  const done = `Done with ${count(ids.length - refusals.length)} of ${count(ids.length)} emails.`
  return [done, ...new Set(refusals)].join(' ')
}
