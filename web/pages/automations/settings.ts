import { type Html, html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { button, confirmButton, form } from '#web/layout/form.ts'
import { section, unicodeDomain } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { type Action, action, type Page, type Visit } from '#web/request/visit.ts'
import type { Found } from './steps.ts'

export const REENTRY = {
  always: 'each event starts a run',
  while_not_running: 'not while the contact has a run',
  once: 'one run per contact, ever',
} as const

export const PURPOSE = {
  marketing: 'marketing: not to contacts that have unsubscribed',
  transactional: 'transactional: also to contacts that have unsubscribed',
} as const

/** Forms that change, copy and delete an automation, and start a run of it. */
export function settingsHtml(visit: Visit, found: Found): Html {
  if (!visit.mayChange) return html``
  const path = `/automations/${found.id}`
  const contact: Field = {
    ...{ name: 'email', label: 'Contact', type: 'email', required: true },
    hint: `Address of a contact of ${unicodeDomain(found.domain)}.`,
  }
  return html`${section(
    'Settings',
    form(visit, {
      ...{ action: path, submit: 'Save' },
      fields: [
        { name: 'name', label: 'Name', required: true, value: found.name },
        { name: 'reentry', label: 'Re-entry', type: 'select', options: Object.entries(REENTRY), value: found.reentry },
        { name: 'purpose', label: 'Purpose', type: 'select', options: Object.entries(PURPOSE), value: found.purpose },
      ],
    }),
  )}
${section('Start a run', form(visit, { action: `${path}/run`, submit: 'Start', fields: [contact] }))}
${button(visit, `${path}/duplicate`, 'Duplicate')}
${confirmButton(visit, `${path}/delete`, 'Delete', 'Its runs are deleted and end at their current step. Emails that they have sent are kept.')}`
}

/** The actions of the forms above. `page` has these forms; `list` lists the automations. */
export function settingsActions(page: Page, list: Page): Action[] {
  const back = (visit: Visit, notice: string) => ({ to: `/automations/${idOf(visit).id}`, notice })
  return [
    action('/automations/:id', page, async (visit, form) => {
      const body = { name: form.text('name'), reentry: form.optional('reentry'), purpose: form.optional('purpose') }
      await visit.call('updateAutomation', { params: idOf(visit), body })
      return back(visit, 'Automation saved.')
    }),
    action('/automations/:id/run', page, async (visit, form) => {
      await visit.call('runAutomation', { params: idOf(visit), body: { email: form.text('email') } })
      return back(visit, 'Run started.')
    }),
    action('/automations/:id/duplicate', page, async visit => {
      const { id } = await visit.call<Found>('duplicateAutomation', { params: idOf(visit) })
      return { to: `/automations/${id}`, notice: 'Automation duplicated. This is the copy.' }
    }),
    action('/automations/:id/delete', page, async visit => {
      await visit.call('deleteAutomation', { params: idOf(visit) })
      return { to: list.path, notice: 'Automation deleted.' }
    }),
  ]
}
