import { type Html, html, raw } from '#web/html.ts'
import type { Problem } from '#web/request/visit.ts'
import { namedField } from './named_field.ts'

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

/** Options of a select whose values are what people read. */
export function optionsOf(values: readonly string[]): [value: string, name: string][] {
  return values.map(value => [value, value])
}

/** A label, its control and its hint. */
export function fieldHtml(field: Field, prefix: string, problem: Problem | null): Html {
  const { name, label, type = 'text', hint } = field
  const id = `${prefix}${name}`
  const isWrong = problem !== null && namedField(problem.error.message) === name
  const described = [...(hint ? [`${id}-hint`] : []), ...(isWrong ? ['problem'] : [])].join(' ')
  const attributes = html`id="${id}" name="${name}"${flags({ required: field.required })}${given('aria-describedby', described)}${given('aria-invalid', isWrong ? 'true' : '')}`
  const hintHtml = hint ? html`<small id="${id}-hint">${hint}</small>` : ''
  if (type === 'checkbox') {
    const isOn = problem ? problem.form.has(name) : field.value === true
    return html`<p class="check"><input type="checkbox" ${attributes}${flags({ checked: isOn })}><label for="${id}">${label}</label>${hintHtml}</p>`
  }
  return html`<p><label for="${id}">${label}</label>${hintHtml}${control(field, attributes, textOf(field, problem))}</p>`
}

/** A password is typed anew, and fields of other forms of the page stay as they are. */
function textOf({ name, type, value }: Field, problem: Problem | null): string {
  if (problem?.form.has(name) && type !== 'password') return problem.form.raw(name)
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

/** An attribute; nothing for an empty value. */
export function given(name: string, value: string | undefined): Html {
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
