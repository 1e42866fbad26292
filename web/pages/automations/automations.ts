import { RunStatus } from '#lib/automations/run_status.ts'
import type { ListedAutomation } from '#sql/automations/definitions/automation_records.ts'
import type { ListedRun } from '#sql/automations/runs.ts'
import { html } from '#web/html.ts'
import { type Field, optionsOf } from '#web/layout/field.ts'
import { button, confirmButton, filters, form } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, facts, linkButton, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { domainOptions, exampleDomain } from '#web/pages/domains/own_domains.ts'
import { action, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { connectionActions, connectionsHtml } from './connections.ts'
import { event, eventActions, events } from './events.ts'
import { run } from './run.ts'
import { PURPOSE, REENTRY, settingsActions, settingsHtml } from './settings.ts'
import { newStep, step, stepActions, stepTypeForm } from './step_pages.ts'
import { type Found, stepsHtml } from './steps.ts'

type Row = Wire<ListedAutomation>
type Run = Wire<ListedRun>

const automations = listPage<Row>({
  ...{
    path: '/automations',
    title: 'Automations',
    operation: 'listAutomations',
    actions: linkButton('/docs/automations', 'How automations work'),
  },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Status', cell: ({ status }) => badge(status) },
    { title: 'Updated', cell: ({ updated_at }) => time(updated_at) },
  ],
  empty: async visit => {
    const domain = (await exampleDomain(visit)).name
    const steps = [{ key: 'start', type: 'trigger', config: { event_name: 'signed.up' } }]
    const body = { name: 'Welcome', domain, steps, connections: [] }
    return ['No automations yet. Create one:', curl(visit, 'POST', '/automations', body)]
  },
  below: async visit =>
    section(
      'New automation',
      form(visit, {
        ...{ action: '/automations', submit: 'Create' },
        fields: [
          { name: 'name', label: 'Name', required: true },
          { name: 'domain', label: 'Domain', type: 'select', options: await domainOptions(visit) },
          { name: 'trigger', label: 'Trigger event', hint: 'Contacts enter when this event occurs.', required: true },
        ],
      }),
    ),
})

const STATUS: Field = {
  ...{ name: 'status', label: 'Status', type: 'select' },
  options: [['', 'all'], ...optionsOf(RunStatus.options)],
}

const STOPPING =
  'Its runs take no further steps, and no more contacts enter. Emails that are not sent yet will not be sent.'

const automation = recordPage<Found>('/automations/:id', 'getAutomation', async (found, visit) => {
  const runs = await visit.call<List<Run>>('listAutomationRuns', {
    params: idOf(visit),
    query: listQuery(visit, 'status'),
  })
  const isEnabled = found.status === 'enabled'
  return {
    title: found.name,
    actions: html`${badge(found.status)} ${button(
      visit,
      `/automations/${found.id}/status`,
      isEnabled ? 'Disable' : 'Enable',
      {
        values: { status: isEnabled ? 'disabled' : 'enabled' },
      },
    )} ${confirmButton(visit, `/automations/${found.id}/stop`, 'Stop all runs', STOPPING)}`,
    body: html`${facts([
      ['Domain', unicodeDomain(found.domain)],
      ['Re-entry', REENTRY[found.reentry]],
      ['Purpose', PURPOSE[found.purpose]],
      ...Object.entries(found.runs).map(([state, number]) => [`Runs ${state}`, count(number)] as const),
      ['Entries over the limit', found.limited ? count(found.limited) : null],
    ])}
${section('Steps', html`${stepsHtml(visit, found)}${stepTypeForm(visit, found)}`)}
${section('Connections', connectionsHtml(visit, found))}
${section(
  'Runs',
  html`${filters(visit, `/automations/${found.id}`, [STATUS])}
${table({
  ...{ caption: 'Runs, newest first', rows: runs.data, empty: empty('No runs found.') },
  link: ({ id }: Run) => `/automations/${found.id}/runs/${id}`,
  columns: [
    { title: 'Contact', cell: ({ contact_email }: Run) => unicodeDomain(contact_email) },
    { title: 'Status', cell: ({ status }: Run) => badge(status) },
    { title: 'Started', cell: ({ started_at }: Run) => time(started_at) },
    { title: 'Completed', cell: ({ completed_at }: Run) => time(completed_at, 'not yet') },
    { title: 'Error', cell: ({ error }: Run) => error ?? '' },
  ],
})}
${pager(visit, runs)}`,
)}
${settingsHtml(visit, found)}`,
  }
})

export const automationRoom: Room = {
  pages: [automations, automation, newStep, step, run, events, event],
  actions: [
    ...stepActions,
    ...eventActions,
    ...connectionActions(automation),
    ...settingsActions(automation, automations),
    action('/automations', automations, async (visit, form) => {
      const body = { name: form.text('name'), domain: form.text('domain'), trigger: form.text('trigger') }
      const { id } = await visit.call<Found>('createAutomation', { body })
      return { to: `/automations/${id}`, notice: 'Automation created. It does nothing until you enable it.' }
    }),
    action('/automations/:id/status', automation, async (visit, form) => {
      const status = form.text('status')
      await visit.call('updateAutomation', { params: idOf(visit), body: { status } })
      return { to: `/automations/${idOf(visit).id}`, notice: `Automation ${status}.` }
    }),
    action('/automations/:id/stop', automation, async visit => {
      await visit.call('stopAutomation', { params: idOf(visit) })
      return { to: `/automations/${idOf(visit).id}`, notice: 'Automation disabled. Its runs are being stopped.' }
    }),
  ],
}
