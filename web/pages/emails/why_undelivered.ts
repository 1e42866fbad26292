import type { Email } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import { button } from '#web/layout/form.ts'
import { badge, time } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

/** The decisions about emails in doubt, with the names of their buttons. */
export const DOUBT_BUTTONS = [
  ['retry', 'Retry delivery'],
  ['release', 'Mark as delivered'],
  ['drop', 'Mark as failed'],
] as const

/** The states of a recipient in doubt, with their meaning. */
const DOUBTS: Record<string, string> = {
  in_doubt: 'It may or may not have arrived, and is sent once more.',
  held: 'It may or may not have arrived, and waits until somebody decides.',
}

/** Lists the recipients with a pending delivery, the reason for each, and buttons for what can be done. */
export function whyUndelivered({ id, status, queue = [] }: Wire<Email>, visit: Visit) {
  const isDelayed = queue.some(({ state, attempts }) => state === 'queued' && attempts > 0)
  const isInDoubt = queue.some(({ state }) => DOUBTS[state])
  const isScheduled = status === 'scheduled'
  if (queue.length === 0 && !isScheduled) return ''
  return html`<div class="why"><h2>Why it is not delivered yet</h2>
<ul>${queue.map(
    ({
      recipient,
      state,
      reason,
      attempts,
      next_attempt_at,
      last_reply,
    }) => html`<li>${recipient}: ${DOUBTS[state] ? html`${badge('in_doubt')} ${DOUBTS[state]} ` : ''}${withPeriod(reason)}
${attempts > 0 ? html` Tried ${attempts === 1 ? 'once' : `${attempts} times`}.` : ''}${next_attempt_at ? html` Next attempt: ${time(next_attempt_at)}.` : ''}
${last_reply ? html` The server said: <code>${last_reply}</code>` : ''}</li>`,
  )}</ul>
${isDelayed ? button(visit, `/emails/${id}/try-now`, 'Try now') : ''}
${isScheduled ? button(visit, `/emails/${id}/cancel`, 'Cancel') : ''}
${isInDoubt ? DOUBT_BUTTONS.map(([action, name]) => button(visit, `/emails/${id}/${action}`, name)) : ''}</div>`
}

/** Ends a reason as a sentence. Those of errors of connections have no period. */
function withPeriod(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`
}
