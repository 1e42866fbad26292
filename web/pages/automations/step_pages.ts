import { StepTypeName } from '#lib/automations/new_step.ts'
import type { StepType } from '#lib/automations/steps.ts'
import { orNotFound } from '#lib/errors.ts'
import type { AutomationStep } from '#sql/automations/definitions/automation_records.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, fieldHtml } from '#web/layout/field.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { preformatted } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { type Action, action, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { readConfig } from './step_config.ts'
import { stepFields } from './step_fields.ts'
import { type Found, wayOf, waysOf, wordsOf } from './steps.ts'

const back = ({ id }: { id: string }) => html`<p><a href="/automations/${id}">The automation</a></p>`

/** Asks for the type of a new step, on which the fields of its form depend. */
export function chooseType({ mayChange, query }: Visit, { id, steps }: Found): Html {
  if (!mayChange) return html``
  const types = steps.length === 0 ? ['trigger'] : StepTypeName.options.filter(type => type !== 'trigger')
  const field: Field = {
    ...{ name: 'type', label: 'Type of a new step', type: 'select' },
    options: types.map(type => [type, wordsOf(type)]),
  }
  const way = query.way ? html`<input type="hidden" name="way" value="${query.way}">` : ''
  return html`<form class="fields" action="/automations/${id}/steps/new">${way}${fieldHtml(field, 'new-', null)}
<p><button>Choose</button></p></form>`
}

/** A form for a new step, of the type that the query names. */
export const newStep = recordPage<Found>('/automations/:id/steps/new', 'getAutomation', async (found, visit) => {
  const { data: type } = StepTypeName.safeParse(visit.query.type)
  if (!type || !visit.mayChange) return { title: 'New step', body: html`${chooseType(visit, found)}${back(found)}` }
  const { fields, extra = html`` } = await stepFields(visit, type, undefined)
  const ways = waysOf(found)
  const taken = found.connections.map(({ from, type }) => wayOf(from, type))
  const [open] = ways.findLast(([way]) => !taken.includes(way)) ?? []
  const after: Field = {
    ...{ name: 'way', label: 'After', type: 'select', options: ways },
    value: visit.query.way ?? open,
  }
  const key = { name: 'key', label: 'Key', hint: 'Its name in the automation. Empty: it is given a number.' }
  return {
    title: `New step: ${wordsOf(type)}`,
    body: html`${form(visit, {
      ...{ action: `/automations/${found.id}/steps?type=${type}`, submit: 'Add the step', extra },
      fields: [key, ...(ways.length > 0 ? [after] : []), ...fields],
    })}
${back(found)}`,
  }
})

/** One step, to be changed or deleted. */
export const step = recordPage<Found>('/automations/:id/steps/:step_id', 'getAutomation', async (found, visit) => {
  const { id, key, type, config } = stepOf(found, visit)
  const path = `/automations/${found.id}/steps/${id}`
  const { fields, extra = html`` } = await stepFields(visit, type, config)
  const shown = visit.mayChange
    ? form(visit, { action: path, submit: 'Save', fields, extra })
    : preformatted(JSON.stringify(config, null, 2), `Step ${key}`)
  const warning = 'What led to it leads to what came behind it.'
  return {
    title: `${key}: ${wordsOf(type)}`,
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
    const [after, connection_type] = form.text('way').split(' ')
    const type = visit.query.type as StepType
    const config = StepTypeName.safeParse(type).success ? readConfig(type, form) : undefined
    const body = { type, key: form.given('key'), config, after: after || undefined, connection_type }
    const { key } = await visit.ask<Wire<AutomationStep>>('addAutomationStep', { params: idOf(visit), body })
    return { to: `/automations/${idOf(visit).id}`, notice: `The step ${key} is added.` }
  }),
  action('/automations/:id/steps/:step_id', step, async (visit, form) => {
    const params = paramsOf(visit)
    const found = await visit.ask<Found>('getAutomation', { params: idOf(visit) })
    const body = { config: readConfig(stepOf(found, visit).type, form) }
    await visit.ask('updateAutomationStep', { params, body })
    return { to: `/automations/${params.id}`, notice: 'The step is changed.' }
  }),
  action('/automations/:id/steps/:step_id/delete', step, async visit => {
    const params = paramsOf(visit)
    await visit.ask('deleteAutomationStep', { params })
    return { to: `/automations/${params.id}`, notice: 'The step is deleted.' }
  }),
]

function paramsOf({ params }: Visit): { id: string; step_id: string } {
  return { id: params.id as string, step_id: params.step_id as string }
}
