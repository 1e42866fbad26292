import { StepTypeName } from '#lib/automations/new_step.ts'
import type { StepType } from '#lib/automations/steps.ts'
import { orNotFound } from '#lib/errors.ts'
import type { AutomationStep } from '#sql/automations/definitions/automation_records.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, fieldHtml } from '#web/layout/field.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { foldedJson } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { type Action, action, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { readConfig } from './step_config.ts'
import { stepFields } from './step_fields.ts'
import { stepWords } from './step_words.ts'
import { type Found, labelOf, sourceOf, sourceOptions } from './steps.ts'

const back = ({ id }: { id: string }) => html`<p><a href="/automations/${id}">Back to the automation</a></p>`

/** A form that chooses the type of a new step, on which its fields depend. */
export function stepTypeForm({ mayChange, query }: Visit, { id, steps }: Found): Html {
  if (!mayChange) return html``
  const types = steps.length === 0 ? ['trigger'] : StepTypeName.options.filter(type => type !== 'trigger')
  const field: Field = {
    ...{ name: 'type', label: 'Type of the new step', type: 'select' },
    options: types.map(type => [type, labelOf(type)]),
  }
  const source = query.source ? html`<input type="hidden" name="source" value="${query.source}">` : ''
  return html`<form class="fields" action="/automations/${id}/steps/new">${source}${fieldHtml(field, 'new-', null)}
<p><button>Continue</button></p></form>`
}

/** A form for a new step of the type in the query. */
export const newStep = recordPage<Found>('/automations/:id/steps/new', 'getAutomation', async (found, visit) => {
  const { data: type } = StepTypeName.safeParse(visit.query.type)
  if (!type || !visit.mayChange) return { title: 'New step', body: html`${stepTypeForm(visit, found)}${back(found)}` }
  const { fields, extra = html`` } = await stepFields(visit, type, undefined)
  const sources = sourceOptions(found)
  const connected = found.connections.map(({ from, type }) => sourceOf(from, type))
  const [unconnected] = sources.findLast(([source]) => !connected.includes(source)) ?? []
  const after: Field = {
    ...{ name: 'source', label: 'After', type: 'select', options: sources },
    value: visit.query.source ?? unconnected,
  }
  const key = {
    name: 'key',
    label: 'Key',
    hint: 'The name of the step in this automation. Leave empty to generate one.',
  }
  return {
    title: `New step: ${labelOf(type)}`,
    body: html`${form(visit, {
      ...{ action: `/automations/${found.id}/steps?type=${type}`, submit: 'Add step', extra },
      fields: [key, ...(sources.length > 0 ? [after] : []), ...fields],
    })}
${back(found)}`,
  }
})

/** A form that changes or deletes a step. */
export const step = recordPage<Found>('/automations/:id/steps/:step_id', 'getAutomation', async (found, visit) => {
  const step = stepOf(found, visit)
  const { id, key, type, config } = step
  const path = `/automations/${found.id}/steps/${id}`
  const { fields, extra = html`` } = await stepFields(visit, type, config)
  const shown = visit.mayChange
    ? form(visit, { action: path, submit: 'Save', fields, extra })
    : html`${stepWords(visit, step)}${foldedJson(config, `step ${key}`)}`
  const warning = 'The previous step will be connected to the next one.'
  return {
    title: `${key}: ${labelOf(type)}`,
    body: html`${shown}
${type === 'trigger' ? '' : confirmButton(visit, `${path}/delete`, 'Delete', warning)}
${back(found)}`,
  }
})

function stepOf({ steps }: Found, { params }: Visit): Found['steps'][number] {
  return orNotFound(
    'Step',
    steps.find(({ id }) => id === params.step_id),
  )
}

export const stepActions: Action[] = [
  action('/automations/:id/steps', newStep, async (visit, form) => {
    const [after, connection_type] = form.text('source').split(' ')
    const type = visit.query.type as StepType
    const config = StepTypeName.safeParse(type).success ? readConfig(type, form) : undefined
    const body = { type, key: form.optional('key'), config, after: after || undefined, connection_type }
    const { key } = await visit.call<Wire<AutomationStep>>('addAutomationStep', { params: idOf(visit), body })
    return { to: `/automations/${idOf(visit).id}`, notice: `Step ${key} added.` }
  }),
  action('/automations/:id/steps/:step_id', step, async (visit, form) => {
    const params = paramsOf(visit)
    const found = await visit.call<Found>('getAutomation', { params: idOf(visit) })
    const body = { config: readConfig(stepOf(found, visit).type, form) }
    await visit.call('updateAutomationStep', { params, body })
    return { to: `/automations/${params.id}`, notice: 'Step updated.' }
  }),
  action('/automations/:id/steps/:step_id/delete', step, async visit => {
    const params = paramsOf(visit)
    await visit.call('deleteAutomationStep', { params })
    return { to: `/automations/${params.id}`, notice: 'Step deleted.' }
  }),
]

function paramsOf({ params }: Visit): { id: string; step_id: string } {
  return { id: params.id as string, step_id: params.step_id as string }
}
