import type { Automation } from '#sql/automations/definitions/automation_records.ts'
import type { AutomationRun } from '#sql/automations/runs.ts'
import { type Html, html } from '#web/html.ts'
import { empty, table } from '#web/layout/list.ts'
import { badge, facts, preformatted, section, time } from '#web/layout/parts.ts'
import { recordPage } from '#web/layout/record_page.ts'
import type { Wire } from '#web/request/wire.ts'

type Found = Wire<Automation>
type Step = Found['steps'][number]
type Run = Wire<AutomationRun>
type RunStep = Run['steps'][number]

/** The steps of an automation as a list, in which what follows a branch stands below it. */
export function stepsOf({ steps, connections }: Found): Html {
  const [first] = steps
  if (!first) return html`<p>It has no steps yet.</p>`
  const seen = new Set<string>()
  const from = (key: string | undefined): Html => {
    const items: Html[] = []
    for (let at = key; at !== undefined; ) {
      const step = steps.find(one => one.key === at)
      if (!step || seen.has(at))
        return html`<ol>${items}${step ? html`<li>goes on with <strong>${at}</strong></li>` : ''}</ol>`
      seen.add(at)
      const next = connections.filter(one => one.from === at)
      const branches = next.filter(({ type }) => type !== 'default')
      items.push(
        html`<li>${stepHtml(step)}${branches.map(({ type, to }) => html`<p>${type.replaceAll('_', ' ')}:</p>${from(to)}`)}</li>`,
      )
      at = next.find(({ type }) => type === 'default')?.to
    }
    return html`<ol>${items}</ol>`
  }
  return html`<div class="steps">${from(first.key)}</div>`
}

function stepHtml({ key, type, config }: Step): Html {
  return html`<strong>${key}</strong> (${type.replaceAll('_', ' ')})${preformatted(JSON.stringify(config, null, 2), `Step ${key}`)}`
}

/** One contact's way through the steps. */
export const run = recordPage<Run>('/automations/:id/runs/:run_id', 'getAutomationRun', found => ({
  title: `Run of ${found.contact_email}`,
  actions: badge(found.status),
  body: html`${facts([
    ['Contact', html`<a href="/contacts/${found.contact_id}">${found.contact_email}</a>`],
    ['Started', time(found.started_at)],
    ['Completed', time(found.completed_at, 'not yet')],
    ['Error', found.error],
  ])}
${section(
  'Steps',
  table({
    ...{
      caption: 'In the order in which it came to them',
      rows: found.steps,
      empty: empty('It has come to no step yet.'),
    },
    columns: [
      { title: 'Step', cell: ({ key }: RunStep) => key },
      { title: 'Type', cell: ({ type }: RunStep) => type.replaceAll('_', ' ') },
      { title: 'Status', cell: ({ status }: RunStep) => badge(status) },
      { title: 'Came to it', cell: ({ started_at }: RunStep) => time(started_at) },
      { title: 'Left it', cell: ({ completed_at }: RunStep) => time(completed_at, 'not yet') },
      {
        title: 'Result',
        cell: ({ output, error }: RunStep) => error?.message ?? (output ? JSON.stringify(output) : ''),
      },
    ],
  }),
)}
<p><a href="/automations/${found.automation_id}">The automation</a></p>`,
}))
