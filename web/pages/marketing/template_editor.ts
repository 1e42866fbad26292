import { renderContent } from '#flows/templates/render_template.ts'
import type { Template } from '#sql/templates/templates.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, optionsOf } from '#web/layout/field.ts'
import { form } from '#web/layout/form.ts'
import { preformatted, section } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { shownState } from '#web/layout/stale_form.ts'
import { contentFields, readText } from '#web/pages/mail/content_fields.ts'
import { previewButton, previewFrame, respondContent } from '#web/pages/mail/content_preview.ts'
import type { Form } from '#web/request/form.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

export type Found = Wire<Template>
type Variable = Found['variables'][number]
type Content = { subject: string | null; html: string; text: string | null }

/** The fields of a template; without values for a new one. */
export function fieldsOf(found?: Found): Field[] {
  return [
    { name: 'name', label: 'Name', required: true, value: found?.name },
    { name: 'alias', label: 'Alias', value: found?.alias, hint: 'A name for API requests.' },
    { name: 'from', label: 'From', value: found?.from },
    {
      name: 'subject',
      label: 'Subject',
      value: found?.subject,
      hint: 'May contain variables, such as {{first_name}}.',
    },
    ...contentFields(found, { html: { required: true } }),
  ]
}

/** Reads the fields of the editor. */
export function readTemplate(form: Form) {
  return {
    ...{ name: form.text('name'), alias: form.textOrNull('alias') },
    ...{ from: form.textOrNull('from'), subject: form.textOrNull('subject') },
    ...{ html: form.raw('html'), text: readText(form) },
  }
}

/** The fields beside a preview of the email. View-only members see the source instead of the fields. */
export function editor(visit: Visit, found: Found): Html {
  const path = `/templates/${found.id}`
  const frame = previewFrame(path)
  if (!visit.mayChange) {
    return html`${section('Preview', frame)}${section('HTML', preformatted(found.html, 'HTML of the template'))}
${found.text ? section('Text', preformatted(found.text, 'Text of the template')) : ''}`
  }
  const values = found.variables.map(({ key }) => ({ name: `value_${key}`, label: `Preview value of ${key}` }))
  const to = { name: 'to', label: 'Test addresses', hint: 'Up to 10 addresses, separated by commas.' }
  const extra = html`${shownState(visit, found)}<p>${previewButton(path, 'Preview', 'part', 'html', true)}
${previewButton(path, 'Preview plain text', 'part', 'text')}
<button formaction="${path}/test">Save and send a test</button></p>`
  return section(
    'Content',
    html`<div class="editor">
${form(visit, { action: path, submit: 'Save', fields: [...fieldsOf(found), ...values, to], extra })}
<div>${frame}</div></div>`,
  )
}

/** A form for the types and fallback values of the variables. */
export function variablesForm(visit: Visit, { id, variables }: Found): Html {
  if (variables.length === 0) return html``
  const types = optionsOf(['string', 'number'])
  const fields = variables.flatMap(({ key, type, fallback_value: value }) => [
    { name: `type_${key}`, label: `Type of ${key}`, type: 'select', value: type, options: types } as const,
    { name: `fallback_${key}`, label: `Fallback value of ${key}`, value: value === null ? '' : String(value) },
  ])
  return section('Variables', form(visit, { action: `/templates/${id}/variables`, submit: 'Save variables', fields }))
}

export function readVariables(form: Form, { variables }: Found): object[] {
  return variables.map(({ key, fallback_value: stored }) => {
    const type = form.text(`type_${key}`)
    return { key, type, fallback_value: form.propertyValue(`fallback_${key}`, type, stored) }
  })
}

/** Returns values for the preview and for test emails. Defaults: the fallback value, the name of the variable, or 0 for a number. */
export function valuesOf(form: Form | null, variables: Variable[]): Record<string, string | number> {
  const entries = variables.flatMap(({ key, type, fallback_value }): [string, string | number][] => {
    const value = form?.propertyValue(`value_${key}`, type) ?? null
    if (value !== null) return [[key, value]]
    return fallback_value === null ? [[key, type === 'number' ? 0 : key]] : []
  })
  return Object.fromEntries(entries)
}

/** Responds with the rendered template for the frame: from the form or, without one, as it is stored. */
export async function respondPreview(visit: Visit, form: Form | null): Promise<void> {
  const found = await visit.call<Found>('getTemplate', { params: idOf(visit) })
  const content: Content = form ? { ...readTemplate(form), subject: form.text('subject') } : found
  const variables = found.variables.map(one => ({ ...one, created_at: new Date(), updated_at: new Date() }))
  await respondContent(visit, form?.text('part') === 'text', () =>
    renderContent({ ...content, variables }, valuesOf(form, found.variables)),
  )
}
