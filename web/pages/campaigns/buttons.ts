import { button, confirmButton } from '#web/layout/form.ts'
import type { Visit } from '#web/request/visit.ts'

const ACTIONS: Record<string, string[]> = {
  scheduled: ['cancel'],
  queued: ['pause'],
  testing: ['pause'],
  paused: ['resume'],
}

const CANCELING = 'Emails that are not sent yet will not be sent. This cannot be undone.'

/** The buttons for a campaign with this status. */
export function buttonsOf(visit: Visit, path: string, status: string) {
  const buttons = [...(ACTIONS[status] ?? []), 'duplicate'].map(name =>
    button(visit, `${path}/${name}`, `${name[0]?.toUpperCase()}${name.slice(1)}`),
  )
  const isStarted = ['queued', 'testing', 'paused'].includes(status)
  return isStarted ? [...buttons, confirmButton(visit, `${path}/cancel`, 'Cancel', CANCELING)] : buttons
}
