import { type Html, html } from '#web/html.ts'
import type { Problem } from '#web/request/visit.ts'
import { type Field, fieldHtml } from './field.ts'

type PasskeyFormParts = {
  action: string
  /** Path of the options for the browser, as JSON. */
  options: string
  /** Method of `navigator.credentials`: `create` adds a passkey, `get` signs in with one. */
  method: 'create' | 'get'
  fields?: readonly Field[]
  submit: string
  extra?: Html
}

/** A form that the browser completes with a passkey. It is hidden unless the script runs and the browser supports passkeys. */
export function passkeyForm(parts: PasskeyFormParts, problem: Problem | null): Html {
  const { action, options, method, fields = [], submit, extra } = parts
  return html`<form method="post" action="${action}" class="fields" data-passkey="${method}" data-options="${options}" hidden>
${fields.map(field => fieldHtml(field, 'passkey-', problem))}<input type="hidden" name="credential">${extra ?? ''}
<p><button>${submit}</button></p><p role="status"></p></form>`
}
