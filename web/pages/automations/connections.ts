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
import { type Found, wayOf, waysOf, wordsOf } from './steps.ts'

type Connection = Found['connections'][number]

/** How steps follow each other, and a form that leads a way elsewhere. */
export function connectionsOf(visit: Visit, found: Found): Html {
  const path = `/automations/${found.id}/connections`
  const rows = {
    ...{ caption: 'In the order of the steps', rows: found.connections, empty: empty('No step leads to another.') },
    columns: [
      { title: 'From', cell: ({ from }: Connection) => from },
      { title: 'When', cell: ({ type }: Connection) => (type === 'default' ? 'always' : wordsOf(type)) },
      { title: 'To', cell: ({ to }: Connection) => to },
    ],
  }
  const remove = {
    title: 'Remove',
    cell: ({ from, type }: Connection) =>
      button(visit, `${path}/delete`, 'Remove', { values: { way: wayOf(from, type) } }),
  }
  const [, ...others] = found.steps
  const fields = [
    { name: 'way', label: 'From', type: 'select', options: waysOf(found) },
    { name: 'to', label: 'To', type: 'select', options: optionsOf(others.map(({ key }) => key)) },
  ] as const
  return html`${table(visit.mayChange ? { ...rows, columns: [...rows.columns, remove] } : rows)}
${others.length > 0 ? form(visit, { action: path, submit: 'Connect', fields }) : ''}`
}

/** The forms above, on the page that has them. */
export function connectionActions(page: Page): Action[] {
  return [
    action('/automations/:id/connections', page, async (visit, form) => {
      await connect(visit, form.text('way'), form.text('to'))
      return { to: `/automations/${idOf(visit).id}`, notice: 'The steps are connected.' }
    }),
    action('/automations/:id/connections/delete', page, async (visit, form) => {
      await connect(visit, form.text('way'), null)
      return { to: `/automations/${idOf(visit).id}`, notice: 'The connection is removed.' }
    }),
  ]
}

async function connect(visit: Visit, way: string, to: string | null): Promise<void> {
  const [from = '', name] = way.split(' ')
  const { data: type } = ConnectionType.safeParse(name)
  if (!type) throw new ApiError('validation_error', '`way` must be a step and a type of its connections.')
  const { account_id } = visit.session
  await connectStep(visit.ctx, { account_id, ...idOf(visit) }, { from, type, to })
  await auditChange(visit.ctx, 'updateAutomation', '/automations/:id')
}
