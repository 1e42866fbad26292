import { type Html, html, raw } from '#web/html.ts'
import type { Problem, Visit } from '#web/request/visit.ts'
import { attribute, type Field, fieldHtml } from './field.ts'
import { linkedField } from './named_field.ts'

type FormParts = {
  action: string
  fields: readonly Field[]
  submit: string
  /** Submits without Turbo, which cannot show a response that is not a redirect: for responses with a secret. */
  isSecret?: boolean
  /** Makes the button red. */
  isDangerous?: boolean
  /** Prefix of the ids of the fields, for pages with several forms. */
  prefix?: string
  extra?: Html
  /** The keyboard shortcut that focuses it. Default: `n` for forms that create a record. */
  key?: string
}

/** A form that changes something. It is hidden from view-only members. */
export function form(visit: Visit, parts: FormParts): Html {
  if (!visit.mayChange) return html``
  return openForm({ ...parts, extra: html`${accountField(visit)}${parts.extra ?? ''}` }, visit.problem)
}

/** Names the account of the page: the member may switch to another one before the form is submitted. */
export function accountField({ session }: Visit): Html {
  return hidden('in_account', session.account_id)
}

/** A form for everybody, including view-only members. */
export function openForm(parts: FormParts, problem: Problem | null): Html {
  const { action, fields, submit, isSecret, isDangerous, prefix = '', extra } = parts
  const key = parts.key ?? (/^\/[\w-]+$/.test(action) ? 'n' : '')
  const hasFile = fields.some(({ type }) => type === 'file')
  return html`<form method="post" action="${action}" class="fields"${attribute('data-key', key)}${attribute('enctype', hasFile ? 'multipart/form-data' : '')}${raw(isSecret ? ' data-turbo="false"' : '')}>
${fields.map(field => fieldHtml(field, prefix, problem))}
${extra ?? ''}
<p><button${raw(isDangerous ? ' class="danger"' : '')}>${submit}</button></p>
</form>`
}

/** A form that is only a button. */
export function button(
  visit: Visit,
  action: string,
  name: string,
  options: { isDangerous?: boolean; isSecret?: boolean; values?: Record<string, string> } = {},
): Html {
  if (!visit.mayChange) return html``
  const { isDangerous, isSecret, values = {} } = options
  return html`<form method="post" action="${action}" class="button"${raw(isSecret ? ' data-turbo="false"' : '')}>
${accountField(visit)}${Object.entries(values).map(([name, value]) => hidden(name, value))}<button${raw(isDangerous ? ' class="danger"' : '')}>${name}</button></form>`
}

/** A button that first shows a warning with a second button. Works without scripts. */
export function confirmButton(
  visit: Visit,
  action: string,
  name: string,
  warning: string,
  options: { isSecret?: boolean; values?: Record<string, string> } = {},
): Html {
  if (!visit.mayChange) return html``
  return html`<details class="confirm"><summary>${name}</summary><p>${warning}</p>
${button(visit, action, name, { ...options, isDangerous: true })}</details>`
}

/** Prefix of the ids of filters: a page may have a form with the same fields. */
export const FILTER_PREFIX = 'filter-'

/** A form that filters a list by query parameters. `hiddenFields`: hidden fields. */
export function filters(visit: Visit, action: string, fields: readonly Field[], hiddenFields = html``): Html {
  const problem = visit.problem?.prefix === FILTER_PREFIX ? visit.problem : null
  const shown = fields.map(field =>
    fieldHtml({ ...field, value: visit.query[field.name] ?? field.value }, FILTER_PREFIX, problem),
  )
  return html`<form class="filters" action="${action}">${hiddenFields}${shown}<p><button>Filter</button></p></form>`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** A hidden field with a value that the page shows. A rejected form keeps it: the stored value may have changed since. */
export function shownValue({ problem }: Visit, name: string, value: string): Html {
  return hidden(name, problem?.form.has(name) ? problem.form.raw(name) : value)
}

/** The error of a rejected form, with a link to the field that it names. */
export function problemHtml({ error, prefix = '' }: Problem): Html {
  const field = linkedField(error.message)
  return html`<div role="alert" class="problem" tabindex="-1" id="problem"><h2>There is a problem</h2>
<p>${field ? html`<a href="#${prefix}${field}">${error.message}</a>` : error.message}</p></div>`
}
