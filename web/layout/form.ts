import { type Html, html, raw } from '#web/html.ts'
import type { Problem, Visit } from '#web/request/visit.ts'
import { type Field, fieldHtml, given } from './field.ts'
import { linkedField } from './named_field.ts'

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
  /** The key that leads to it. Default: `n`, if it makes a record of a list. */
  key?: string
}

/** A form that changes something. View-only members get nothing in its place. */
export function form(visit: Visit, parts: FormParts): Html {
  return visit.mayChange ? openForm(parts, visit.problem) : html``
}

/** A form for everybody. */
export function openForm(parts: FormParts, problem: Problem | null): Html {
  const { action, fields, submit, isSecret, isDangerous, prefix = '', extra } = parts
  const key = parts.key ?? (/^\/[\w-]+$/.test(action) ? 'n' : '')
  const hasFile = fields.some(({ type }) => type === 'file')
  return html`<form method="post" action="${action}" class="fields"${given('data-key', key)}${given('enctype', hasFile ? 'multipart/form-data' : '')}${raw(isSecret ? ' data-turbo="false"' : '')}>
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

/** Filters of a list, in the address of the page. Empty ones are left out by the reader of the query. `kept`: hidden fields. */
export function filters(visit: Visit, action: string, fields: readonly Field[], kept = html``): Html {
  const shown = fields.map(field =>
    fieldHtml({ ...field, value: visit.query[field.name] ?? field.value }, 'filter-', null),
  )
  return html`<form class="filters" action="${action}">${kept}${shown}<p><button>Filter</button></p></form>`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** Why a form was refused, with a link to the field that the error names. */
export function problemHtml({ error }: Problem): Html {
  const field = linkedField(error.message)
  return html`<div role="alert" class="problem" tabindex="-1" id="problem"><h2>This was not done</h2>
<p>${field ? html`<a href="#${field}">${error.message}</a>` : error.message}</p></div>`
}
