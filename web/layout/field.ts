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
  /** A sentence below the label. */
  hint?: string
  required?: boolean
  /** Values of a select, with their labels. */
  options?: readonly (readonly [value: string, name: string])[]
  rows?: number
  /** Types of files that may be chosen. */
  accept?: string
  autocomplete?: string
  placeholder?: string
}

/** Returns options of a select whose labels are their values. */
export function optionsOf(values: readonly string[]): [value: string, name: string][] {
  return values.map(value => [value, value])
}

/** Adds the current value if it is missing, so that saving the form does not change it. */
export function withValue<Option extends readonly [value: string, name: string]>(
  options: readonly Option[],
  value: string | null | undefined,
): (Option | [string, string])[] {
  return !value || options.some(([option]) => option === value) ? [...options] : [...options, [value, value]]
}

/** Renders a label with its hint and its control. */
export function fieldHtml(field: Field, prefix: string, problem: Problem | null): Html {
  const { name, label, type = 'text', hint } = field
  const id = `${prefix}${name}`
  const isInvalid = problem !== null && namedField(problem.error.message) === name
  const descriptions = [...(hint ? [`${id}-hint`] : []), ...(isInvalid ? ['problem'] : [])].join(' ')
  const attributes = html`id="${id}" name="${name}"${booleanAttributes({ required: field.required })}${attribute('aria-describedby', descriptions)}${attribute('aria-invalid', isInvalid ? 'true' : '')}`
  const hintHtml = hint ? html`<small id="${id}-hint">${hint}</small>` : ''
  if (type === 'checkbox') {
    // Browsers leave out a checkbox that is not ticked, as if it belonged to another form of the page.
    const marker = `has_${name}`
    const isOn = problem?.form.has(marker) ? problem.form.has(name) : field.value === true
    return html`<p class="check"><input type="hidden" name="${marker}" value="1"><input type="checkbox" ${attributes}${booleanAttributes({ checked: isOn })}><label for="${id}">${label}</label>${hintHtml}</p>`
  }
  return html`<p><label for="${id}">${label}</label>${hintHtml}${control(field, attributes, textOf(field, problem))}</p>`
}

/** After a rejected form, fields show what was typed, except passwords and the fields of other forms. */
function textOf({ name, type, value }: Field, problem: Problem | null): string {
  if (problem?.form.has(name) && type !== 'password') return problem.form.raw(name)
  return value ? String(value) : ''
}

function control(
  { type = 'text', options = [], rows = 8, autocomplete, placeholder, accept }: Field,
  attributes: Html,
  value: string,
): Html {
  const extra = html`${attribute('autocomplete', autocomplete)}${attribute('placeholder', placeholder)}`
  if (type === 'file') return html`<input type="file" ${attributes}${attribute('accept', accept)}>`
  // The line break after the tag is not part of the value.
  if (type === 'textarea') return html`<textarea ${attributes} rows="${rows}"${extra}>\n${value}</textarea>`
  if (type === 'select') {
    return html`<select ${attributes}>${options.map(
      ([option, name]) =>
        html`<option value="${option}"${booleanAttributes({ selected: option === value })}>${name}</option>`,
    )}</select>`
  }
  return html`<input type="${type}" ${attributes} value="${value}"${extra}>`
}

/** Renders an attribute, or nothing if the value is empty. */
export function attribute(name: string, value: string | undefined): Html {
  return value ? html` ${raw(name)}="${value}"` : html``
}

function booleanAttributes(values: Record<string, boolean | undefined>): Html {
  return raw(
    Object.entries(values)
      .filter(([, is]) => is)
      .map(([name]) => ` ${name}`)
      .join(''),
  )
}
