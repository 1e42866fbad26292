import type { AutomationRun } from '#sql/automations/runs.ts'
import { type Html, html } from '#web/html.ts'
import { table } from '#web/layout/list.ts'
import { badge, facts, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { recordPage } from '#web/layout/record_page.ts'
import type { Wire } from '#web/request/wire.ts'
import { labelOf } from './steps.ts'

type Run = Wire<AutomationRun>
type RunStep = Run['steps'][number]

/** The run of one contact through the steps. */
export const run = recordPage<Run>('/automations/:id/runs/:run_id', 'getAutomationRun', found => ({
  title: `Run for ${unicodeDomain(found.contact_email)}`,
  actions: badge(found.status),
  body: html`${facts([
    ['Contact', html`<a href="/contacts/${found.contact_id}">${unicodeDomain(found.contact_email)}</a>`],
    ['Started', time(found.started_at)],
    ['Completed', time(found.completed_at, 'not yet')],
    ['Error', found.error],
  ])}
${section(
  'Steps',
  table({
    ...{
      caption: 'In the order in which they started',
      rows: found.steps,
      empty: html``,
    },
    columns: [
      { title: 'Step', cell: ({ key }: RunStep) => key },
      { title: 'Type', cell: ({ type }: RunStep) => labelOf(type) },
      { title: 'Status', cell: ({ status }: RunStep) => badge(status) },
      { title: 'Started', cell: ({ started_at }: RunStep) => time(started_at) },
      { title: 'Completed', cell: ({ completed_at }: RunStep) => time(completed_at, 'not yet') },
      { title: 'Result', cell: resultOf },
    ],
  }),
)}
<p><a href="/automations/${found.automation_id}">Back to the automation</a></p>`,
}))

/** The result of a step in words: why it failed, its email, when a delay ends, or the outcome that chose the next step. */
function resultOf({ output, error }: RunStep): Html | string {
  if (error) return error.message
  const { email_id, until, result, ...others } = output ?? {}
  if (typeof email_id === 'string') return html`<a href="/emails/${email_id}">View email</a>`
  if (typeof until === 'string') return html`until ${time(until)}`
  if (typeof result === 'string') return labelOf(result)
  return Object.keys(others).length > 0 ? JSON.stringify(others) : ''
}
