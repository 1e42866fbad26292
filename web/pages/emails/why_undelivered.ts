import type { Email } from '#sql/sending/email_records.ts'
import { html } from '#web/html.ts'
import { button } from '#web/layout/form.ts'
import { time } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

/** The decisions about emails in doubt, with the names of their buttons. */
export const DOUBT_BUTTONS = [
  ['retry', 'Retry delivery'],
  ['release', 'Mark as delivered'],
  ['drop', 'Mark as failed'],
] as const

/** Lists the recipients with a pending delivery, the reason for each, and buttons for what can be done. */
export function whyUndelivered({ id, status, queue = [] }: Wire<Email>, visit: Visit) {
  const isDelayed = queue.some(({ state, attempts }) => state === 'queued' && attempts > 0)
  const isHeld = queue.some(({ state }) => state === 'held' || state === 'in_doubt')
  const isScheduled = status === 'scheduled'
  if (queue.length === 0 && !isScheduled) return ''
  return html`<div class="why"><h2>Why it is not delivered yet</h2>
<ul>${queue.map(
    ({ recipient, reason, attempts, next_attempt_at, last_reply }) => html`<li>${recipient}: ${withPeriod(reason)}
${attempts > 0 ? html` Tried ${attempts === 1 ? 'once' : `${attempts} times`}.` : ''}${next_attempt_at ? html` Next attempt: ${time(next_attempt_at)}.` : ''}
${last_reply ? html` The server said: <code>${last_reply}</code>` : ''}</li>`,
  )}</ul>
${isDelayed ? button(visit, `/emails/${id}/try-now`, 'Try now') : ''}
${isScheduled ? button(visit, `/emails/${id}/cancel`, 'Cancel') : ''}
${isHeld ? DOUBT_BUTTONS.map(([action, name]) => button(visit, `/emails/${id}/${action}`, name)) : ''}</div>`
}

/** Ends a reason as a sentence. Those of errors of connections have no period. */
function withPeriod(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`
}
