import { type Html, html, raw } from '#web/html.ts'
import type { Problem, Visit } from '#web/request/visit.ts'

export type Field = {
  name: string
  label: string
  type?:
    | 'text'
    | 'email'
    | 'password'
    | 'url'
    | 'number'
    | 'search'
    | 'date'
    | 'datetime-local'
    | 'textarea'
    | 'select'
    | 'checkbox'
    | 'file'
  value?: string | boolean | null | undefined
  /** One sentence below the label. */
  hint?: string
  required?: boolean
  /** Values of a select, with their names. */
  options?: readonly (readonly [value: string, name: string])[]
  rows?: number
  /** Kinds of files that may be chosen. */
  accept?: string
  autocomplete?: string
  placeholder?: string
}

type FormParts = {
  action: string
  fields: readonly Field[]
  submit: string
  /** Shows the response without replacing the history: for forms whose response holds a secret. */
  isSecret?: boolean
  /** The button warns in red. */
  isDangerous?: boolean
  /** Distinguishes fields of the same name in several forms of a page. */
  prefix?: string
  extra?: Html
}

/** A form that changes something. View-only members get nothing in its place. */
export function form(visit: Visit, parts: FormParts): Html {
  return visit.mayChange ? openForm(parts, visit.problem) : html``
}

/** A form for everybody. */
export function openForm(parts: FormParts, problem: Problem | null): Html {
  const { action, fields, submit, isSecret, isDangerous, prefix = '', extra } = parts
  const hasFile = fields.some(({ type }) => type === 'file')
  return html`<form method="post" action="${action}" class="fields"${given('enctype', hasFile ? 'multipart/form-data' : '')}${raw(isSecret ? ' data-turbo="false"' : '')}>
${fields.map(field => fieldHtml(field, prefix, problem))}
${extra ?? ''}
<p><button${raw(isDangerous ? ' class="danger"' : '')}>${submit}</button></p>
</form>`
}

/** A button that does something by itself. */
export function button(
  visit: Visit,
  action: string,
  name: string,
  options: { isDangerous?: boolean; isSecret?: boolean; values?: Record<string, string> } = {},
): Html {
  if (!visit.mayChange) return html``
  const { isDangerous, isSecret, values = {} } = options
  return html`<form method="post" action="${action}" class="button"${raw(isSecret ? ' data-turbo="false"' : '')}>
${Object.entries(values).map(([name, value]) => hidden(name, value))}<button${raw(isDangerous ? ' class="danger"' : '')}>${name}</button></form>`
}

/** Asks before it deletes: the button is behind another one, which works without a script. */
export function confirmButton(visit: Visit, action: string, name: string, warning: string): Html {
  if (!visit.mayChange) return html``
  return html`<details class="confirm"><summary>${name}</summary><p>${warning}</p>
${button(visit, action, name, { isDangerous: true })}</details>`
}

/** Filters of a list, in the address of the page. Empty ones are left out by the reader of the query. */
export function filters(visit: Visit, action: string, fields: readonly Field[]): Html {
  const shown = fields.map(field =>
    fieldHtml({ ...field, value: visit.query[field.name] ?? field.value }, 'filter-', null),
  )
  return html`<form class="filters" action="${action}">${shown}<p><button>Filter</button></p></form>`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** Why a form was refused, with a link to the field that the error names. */
export function problemHtml({ error }: Problem): Html {
  const [, field] = /^(?:Missing )?`(\w+)/.exec(error.message) ?? []
  return html`<div role="alert" class="problem" tabindex="-1" id="problem"><h2>This was not done</h2>
<p>${field ? html`<a href="#${field}">${error.message}</a>` : error.message}</p></div>`
}

/** A label, its control and its hint. */
export function fieldHtml(field: Field, prefix: string, problem: Problem | null): Html {
  const { name, label, type = 'text', hint } = field
  const id = `${prefix}${name}`
  const isWrong = problem?.error.message.match(/`(\w+)/)?.[1] === name
  const described = [...(hint ? [`${id}-hint`] : []), ...(isWrong ? ['problem'] : [])].join(' ')
  const attributes = html`id="${id}" name="${name}"${flags({ required: field.required })}${given('aria-describedby', described)}${given('aria-invalid', isWrong ? 'true' : '')}`
  const hintHtml = hint ? html`<small id="${id}-hint">${hint}</small>` : ''
  if (type === 'checkbox') {
    const isOn = problem ? problem.form.has(name) : field.value === true
    return html`<p class="check"><input type="checkbox" ${attributes}${flags({ checked: isOn })}><label for="${id}">${label}</label>${hintHtml}</p>`
  }
  return html`<p><label for="${id}">${label}</label>${hintHtml}${control(field, attributes, textOf(field, problem))}</p>`
}

/** A password is typed anew. */
function textOf({ name, type, value }: Field, problem: Problem | null): string {
  if (problem && type !== 'password') return problem.form.raw(name)
  return value ? String(value) : ''
}

function control(
  { type = 'text', options = [], rows = 8, autocomplete, placeholder, accept }: Field,
  attributes: Html,
  value: string,
): Html {
  const more = html`${given('autocomplete', autocomplete)}${given('placeholder', placeholder)}`
  if (type === 'file') return html`<input type="file" ${attributes}${given('accept', accept)}>`
  // The line break after the tag is not part of the value.
  if (type === 'textarea') return html`<textarea ${attributes} rows="${rows}"${more}>\n${value}</textarea>`
  if (type === 'select') {
    return html`<select ${attributes}>${options.map(
      ([option, name]) => html`<option value="${option}"${flags({ selected: option === value })}>${name}</option>`,
    )}</select>`
  }
  return html`<input type="${type}" ${attributes} value="${value}"${more}>`
}

function given(name: string, value: string | undefined): Html {
  return value ? html` ${raw(name)}="${value}"` : html``
}

function flags(given: Record<string, boolean | undefined>): Html {
  return raw(
    Object.entries(given)
      .filter(([, is]) => is)
      .map(([name]) => ` ${name}`)
      .join(''),
  )
}
