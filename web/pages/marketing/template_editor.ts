import { renderContent } from '#flows/templates/render_template.ts'
import { ApiError } from '#lib/errors.ts'
import type { Template } from '#sql/templates/templates.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, optionsOf } from '#web/layout/field.ts'
import { form } from '#web/layout/form.ts'
import { preformatted, section } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { respondMail, SANDBOX } from '#web/pages/mail/preview.ts'
import type { Form } from '#web/request/form.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

export type Shown = Wire<Template>
type Variable = Shown['variables'][number]
type Content = { subject: string | null; html: string; text: string | null }

/** The fields of a template, with those that a new one has. */
export function fieldsOf(found?: Shown): Field[] {
  return [
    { name: 'name', label: 'Name', required: true, value: found?.name },
    { name: 'alias', label: 'Alias', value: found?.alias, hint: 'A name for programs.' },
    { name: 'from', label: 'From', value: found?.from },
    { name: 'subject', label: 'Subject', value: found?.subject, hint: 'May have placeholders: {{first_name}}' },
    { name: 'html', label: 'HTML', type: 'textarea', rows: 16, value: found?.html, required: true },
    { name: 'text', label: 'Text', type: 'textarea', value: found?.text, hint: 'Empty: made from the HTML.' },
  ]
}

/** Returns the values of the editor's fields. */
export function given(form: Form) {
  return {
    ...{ name: form.text('name'), alias: form.orNull('alias') },
    ...{ from: form.given('from'), subject: form.given('subject') },
    ...{ html: form.raw('html'), text: form.text('text') ? form.raw('text') : null },
  }
}

/** The fields beside the mail that they make; view-only members read the source. */
export function editor(visit: Visit, found: Shown): Html {
  const path = `/templates/${found.id}`
  const frame = html`<iframe name="preview" title="Preview" sandbox="${SANDBOX}" src="${path}/preview"></iframe>`
  if (!visit.mayChange) {
    return html`${section('Preview', frame)}${section('HTML', preformatted(found.html, 'HTML of the template'))}
${found.text ? section('Text', preformatted(found.text, 'Text of the template')) : ''}`
  }
  const values = found.variables.map(({ key }) => ({ name: `value_${key}`, label: `Value of ${key} in the preview` }))
  const to = { name: 'to', label: 'Test addresses', hint: 'Up to 10, with commas. They get the mail of the preview.' }
  const buttons = html`<p><button formaction="${path}/preview" formtarget="preview" formnovalidate data-preview>Preview</button>
<button formaction="${path}/preview" formtarget="preview" formnovalidate name="part" value="text">Preview text</button>
<button formaction="${path}/test">Save and send a test</button></p>`
  return section(
    'Content',
    html`<div class="editor">
${form(visit, { action: path, submit: 'Save', fields: [...fieldsOf(found), ...values, to], extra: buttons })}
<div>${frame}</div></div>`,
  )
}

/** The form of the types and fallbacks of the variables. */
export function variablesForm(visit: Visit, { id, variables }: Shown): Html {
  if (variables.length === 0) return html``
  const types = optionsOf(['string', 'number'])
  const fields = variables.flatMap(({ key, type, fallback_value: value }) => [
    { name: `type_${key}`, label: `Type of ${key}`, type: 'select', value: type, options: types } as const,
    { name: `fallback_${key}`, label: `Fallback of ${key}`, value: value === null ? '' : String(value) },
  ])
  return section('Variables', form(visit, { action: `/templates/${id}/variables`, submit: 'Save variables', fields }))
}

export function givenVariables(form: Form, { variables }: Shown): object[] {
  return variables.map(({ key }) => {
    const type = form.text(`type_${key}`)
    return { key, type, fallback_value: form.typed(`fallback_${key}`, type) }
  })
}

/** Values for the preview and for tests; a variable without one has its fallback, or else its name. */
export function valuesOf(form: Form | null, variables: Variable[]): Record<string, string | number> {
  const entries = variables.flatMap(({ key, type, fallback_value }): [string, string | number][] => {
    const given = form?.typed(`value_${key}`, type) ?? null
    if (given !== null) return [[key, given]]
    return fallback_value === null ? [[key, type === 'number' ? 0 : key]] : []
  })
  return Object.fromEntries(entries)
}

/** Responds with the mail of a template for its frame: as it is stored or, of a form, as it was typed. */
export async function respondPreview(visit: Visit, form: Form | null): Promise<void> {
  const found = await visit.ask<Shown>('getTemplate', { params: idOf(visit) })
  const content: Content = form ? { ...given(form), subject: form.text('subject') } : found
  await respondMail(visit, await render(content, valuesOf(form, found.variables), found, form?.text('part') === 'text'))
}

async function render(
  content: Content,
  values: ReturnType<typeof valuesOf>,
  found: Shown,
  isText: boolean,
): Promise<string> {
  try {
    const variables = found.variables.map(one => ({ ...one, created_at: new Date(), updated_at: new Date() }))
    const mail = await renderContent({ ...content, variables }, values)
    const head = html`<p><strong>Subject:</strong> ${mail.subject}</p><hr>`
    return `${head}${isText ? html`<pre>${mail.text ?? ''}</pre>` : (mail.html ?? '')}`
  } catch (error) {
    if (error instanceof ApiError) return String(html`<p>${error.message}</p>`)
    throw error
  }
}
