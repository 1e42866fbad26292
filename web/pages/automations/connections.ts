import { auditChange } from '#api/operations/audit.ts'
import { connectStep } from '#flows/automations/definitions/change_steps.ts'
import { ConnectionType } from '#lib/automations/new_step.ts'
import { ApiError } from '#lib/errors.ts'
import { type Html, html } from '#web/html.ts'
import { optionsOf } from '#web/layout/field.ts'
import { button, form } from '#web/layout/form.ts'
import { empty, table } from '#web/layout/list.ts'
import { idOf } from '#web/layout/record_page.ts'
import { type Action, action, type Page, type Visit } from '#web/request/visit.ts'
import { type Found, labelOf, sourceOf, sourceOptions } from './steps.ts'

type Connection = Found['connections'][number]

/** The connections between steps, and a form that adds or changes one. */
export function connectionsHtml(visit: Visit, found: Found): Html {
  const path = `/automations/${found.id}/connections`
  const rows = {
    ...{ caption: 'In the order of the steps', rows: found.connections, empty: empty('No connections yet.') },
    columns: [
      { title: 'From', cell: ({ from }: Connection) => from },
      { title: 'Condition', cell: ({ type }: Connection) => (type === 'default' ? 'always' : labelOf(type)) },
      { title: 'To', cell: ({ to }: Connection) => to },
    ],
  }
  const remove = {
    title: 'Remove',
    cell: ({ from, type }: Connection) =>
      button(visit, `${path}/delete`, 'Remove', { values: { source: sourceOf(from, type) } }),
  }
  const [, ...others] = found.steps
  const fields = [
    { name: 'source', label: 'From', type: 'select', options: sourceOptions(found) },
    { name: 'to', label: 'To', type: 'select', options: optionsOf(others.map(({ key }) => key)) },
  ] as const
  return html`${table(visit.mayChange ? { ...rows, columns: [...rows.columns, remove] } : rows)}
${others.length > 0 ? form(visit, { action: path, submit: 'Connect', fields }) : ''}`
}

/** The actions of the forms above. `page` has these forms. */
export function connectionActions(page: Page): Action[] {
  return [
    action('/automations/:id/connections', page, async (visit, form) => {
      await connect(visit, form.text('source'), form.text('to'))
      return { to: `/automations/${idOf(visit).id}`, notice: 'Steps connected.' }
    }),
    action('/automations/:id/connections/delete', page, async (visit, form) => {
      await connect(visit, form.text('source'), null)
      return { to: `/automations/${idOf(visit).id}`, notice: 'Connection removed.' }
    }),
  ]
}

async function connect(visit: Visit, source: string, to: string | null): Promise<void> {
  const [from = '', name] = source.split(' ')
  const { data: type } = ConnectionType.safeParse(name)
  if (!type) throw new ApiError('validation_error', '`source` must be a step and one of its connection types.')
  const { account_id } = visit.session
  await connectStep(visit.ctx, { account_id, ...idOf(visit) }, { from, type, to })
  await auditChange(visit.ctx, 'updateAutomation', '/automations/:id')
}
