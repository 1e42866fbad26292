import type { Html } from '#web/html.ts'
import { button, confirmButton } from '#web/layout/form.ts'
import type { Visit } from '#web/request/visit.ts'

/** The button beside Cancel while a campaign is sent, by its status. */
const WHILE_SENT: Record<string, string> = { queued: 'pause', testing: 'pause', paused: 'resume' }

const CANCELING = 'Emails that are not sent yet will not be sent. This cannot be undone.'

/** The buttons for a campaign with this status. */
export function buttonsOf(visit: Visit, path: string, status: string): Html[] {
  const buttonTo = (name: string) => button(visit, `${path}/${name}`, `${name[0]?.toUpperCase()}${name.slice(1)}`)
  const first = WHILE_SENT[status]
  if (first) {
    return [buttonTo(first), buttonTo('duplicate'), confirmButton(visit, `${path}/cancel`, 'Cancel', CANCELING)]
  }
  return (status === 'scheduled' ? ['cancel', 'duplicate'] : ['duplicate']).map(buttonTo)
}
