import type { Template } from '#sql/templates/templates.ts'
import { html } from '#web/html.ts'
import { button, confirmButton, type Field, form } from '#web/layout/form.ts'
import { curl } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, facts, preformatted, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import type { Form } from '#web/request/form.ts'
import { action, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Shown = Wire<Template>

const templates = listPage<Shown>({
  ...{ path: '/templates', title: 'Templates', operation: 'listTemplates' },
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Status', cell: ({ status }) => badge(status) },
    { title: 'Alias', cell: ({ alias }) => alias ?? '' },
    { title: 'Changed', cell: ({ updated_at }) => time(updated_at) },
  ],
  empty: visit => [
    'There are no templates yet.',
    curl(visit, 'POST', '/templates', { name: 'Welcome', subject: 'Hello {{first_name}}', html: '<p>Welcome!</p>' }),
  ],
  below: visit => section('New template', form(visit, { action: '/templates', submit: 'Create', fields: fieldsOf() })),
})

const template = recordPage<Shown>('/templates/:id', 'getTemplate', (found, visit) => {
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
${visit.mayChange ? '' : section('HTML', preformatted(found.html, 'HTML of the template'))}
${section('Content', form(visit, { action: path, submit: 'Save', fields: fieldsOf(found) }))}
${confirmButton(visit, `${path}/delete`, 'Delete', 'Emails that were sent keep their content.')}`,
  }
})

function fieldsOf(found?: Shown): Field[] {
  return [
    { name: 'name', label: 'Name', required: true, value: found?.name },
    { name: 'alias', label: 'Alias', value: found?.alias, hint: 'A name for programs.' },
    { name: 'from', label: 'From', value: found?.from },
    { name: 'subject', label: 'Subject', value: found?.subject, hint: 'May have placeholders: {{first_name}}' },
    { name: 'html', label: 'HTML', type: 'textarea', rows: 16, value: found?.html, required: true },
    { name: 'text', label: 'Text', type: 'textarea', value: found?.text, hint: 'Empty: made from the HTML.' },
  ]
}

function given(form: Form) {
  return {
    ...{
      name: form.text('name'),
      alias: form.orNull('alias'),
      from: form.given('from'),
      subject: form.given('subject'),
    },
    ...{ html: form.raw('html'), text: form.text('text') ? form.raw('text') : null },
  }
}

export const templateRoom: Room = {
  pages: [templates, template],
  actions: [
    action('/templates', templates, async (visit, form) => {
      const { id } = await visit.ask<Shown>('createTemplate', { body: given(form) })
      return { to: `/templates/${id}`, notice: 'The template is a draft until you publish it.' }
    }),
    action('/templates/:id', template, async (visit, form) => {
      await visit.ask('updateTemplate', { params: idOf(visit), body: given(form) })
      return { to: `/templates/${idOf(visit).id}`, notice: 'The template is saved. Publish it to send it.' }
    }),
    action('/templates/:id/publish', template, async visit => {
      await visit.ask('publishTemplate', { params: idOf(visit) })
      return { to: `/templates/${idOf(visit).id}`, notice: 'The template is published.' }
    }),
    action('/templates/:id/duplicate', template, async visit => {
      const { id } = await visit.ask<Shown>('duplicateTemplate', { params: idOf(visit) })
      return { to: `/templates/${id}`, notice: 'This is the copy.' }
    }),
    action('/templates/:id/delete', template, async visit => {
      await visit.ask('deleteTemplate', { params: idOf(visit) })
      return { to: '/templates', notice: 'The template is deleted.' }
    }),
  ],
}
