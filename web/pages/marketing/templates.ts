import { html } from '#web/html.ts'
import { button, confirmButton, form } from '#web/layout/form.ts'
import { curl } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, facts, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { acceptState, refuseStale } from '#web/layout/stale_form.ts'
import type { Form } from '#web/request/form.ts'
import { action, file, type Room, type Visit } from '#web/request/visit.ts'
import {
  editor,
  type Found,
  fieldsOf,
  readTemplate,
  readVariables,
  respondPreview,
  valuesOf,
  variablesForm,
} from './template_editor.ts'

type Content = { subject: string; html: string | null; text: string | null }

const templates = listPage<Found>({
  ...{ path: '/templates', title: 'Templates', operation: 'listTemplates' },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Status', cell: ({ status }) => badge(status) },
    { title: 'Alias', cell: ({ alias }) => alias ?? '' },
    { title: 'Updated', cell: ({ updated_at }) => time(updated_at) },
  ],
  empty: visit => [
    'No templates yet. Create one:',
    curl(visit, 'POST', '/templates', { name: 'Welcome', subject: 'Hello {{first_name}}', html: '<p>Welcome!</p>' }),
  ],
  below: visit => section('New template', form(visit, { action: '/templates', submit: 'Create', fields: fieldsOf() })),
})

const template = recordPage<Found>('/templates/:id', 'getTemplate', (found, visit) => {
  const path = `/templates/${found.id}`
  return {
    title: found.name,
    actions: html`${badge(found.status)} ${button(visit, `${path}/publish`, 'Publish')} ${button(visit, `${path}/duplicate`, 'Duplicate')}`,
    body: html`${facts([
      ['Alias', found.alias],
      ['Published', time(found.published_at)],
      ['Unpublished changes', found.has_unpublished_versions ? 'yes' : 'no'],
      ['Variables', found.variables.map(({ key }) => key).join(', ')],
    ])}
${editor(visit, found)}
${variablesForm(visit, found)}
${confirmButton(visit, `${path}/delete`, 'Delete', 'Emails that are already sent keep their content.')}`,
  }
})

/** Sends the newest version, published or not, to the test addresses. Returns a notice. */
async function sendTest(visit: Visit, form: Form): Promise<string> {
  const found = await visit.call<Found>('getTemplate', { params: idOf(visit) })
  const body = { variables: valuesOf(form, found.variables) }
  const mail = await visit.call<Content>('renderTemplate', { params: idOf(visit), body })
  const { subject, html, text } = mail
  const to = form.addresses('to')
  await visit.call('sendEmail', {
    body: { from: found.from || undefined, to, subject: subject || undefined, html, text },
  })
  return `Test email to ${to.map(unicodeDomain).join(', ')} queued.`
}

async function saveTemplate(visit: Visit, form: Form): Promise<void> {
  const params = idOf(visit)
  refuseStale(form, await visit.call<Found>('getTemplate', { params }))
  await visit.call('updateTemplate', { params, body: readTemplate(form) })
  acceptState(form, await visit.call<Found>('getTemplate', { params }))
}

export const templateRoom: Room = {
  pages: [templates, template],
  files: [file('/templates/:id/preview', visit => respondPreview(visit, null))],
  actions: [
    action('/templates', templates, async (visit, form) => {
      const { id } = await visit.call<Found>('createTemplate', { body: readTemplate(form) })
      return { to: `/templates/${id}`, notice: 'Template created as a draft. Publish it to use it.' }
    }),
    action('/templates/:id', template, async (visit, form) => {
      await saveTemplate(visit, form)
      return { to: `/templates/${idOf(visit).id}`, notice: 'Template saved. Publish it to use the changes.' }
    }),
    action('/templates/:id/preview', template, async (visit, form) => {
      await respondPreview(visit, form)
      return null
    }),
    action('/templates/:id/test', template, async (visit, form) => {
      await saveTemplate(visit, form)
      return { to: `/templates/${idOf(visit).id}`, notice: await sendTest(visit, form) }
    }),
    action('/templates/:id/variables', template, async (visit, form) => {
      const found = await visit.call<Found>('getTemplate', { params: idOf(visit) })
      await visit.call('updateTemplate', { params: idOf(visit), body: { variables: readVariables(form, found) } })
      return { to: `/templates/${found.id}`, notice: 'Variables saved. Publish the template to use them.' }
    }),
    action('/templates/:id/publish', template, async visit => {
      await visit.call('publishTemplate', { params: idOf(visit) })
      return { to: `/templates/${idOf(visit).id}`, notice: 'Template published.' }
    }),
    action('/templates/:id/duplicate', template, async visit => {
      const { id } = await visit.call<Found>('duplicateTemplate', { params: idOf(visit) })
      return { to: `/templates/${id}`, notice: 'Template duplicated. This is the copy.' }
    }),
    action('/templates/:id/delete', template, async visit => {
      await visit.call('deleteTemplate', { params: idOf(visit) })
      return { to: '/templates', notice: 'Template deleted.' }
    }),
  ],
}
