import { type Html, html } from '#web/html.ts'
import type { Problem } from '#web/request/visit.ts'
import { type Field, fieldHtml } from './field.ts'

type PasskeyFormParts = {
  action: string
  /** Path of what the browser is asked for, as JSON. */
  options: string
  /** `create` makes a passkey, `get` uses an existing one. */
  ask: 'create' | 'get'
  fields?: readonly Field[]
  submit: string
  extra?: Html
}

/** A form that the browser completes by a passkey. It needs the script of the pages, which shows it. */
export function passkeyForm(parts: PasskeyFormParts, problem: Problem | null): Html {
  const { action, options, ask, fields = [], submit, extra } = parts
  return html`<form method="post" action="${action}" class="fields" data-passkey="${ask}" data-options="${options}" hidden>
${fields.map(field => fieldHtml(field, 'passkey-', problem))}<input type="hidden" name="credential">${extra ?? ''}
<p><button>${submit}</button></p><p role="status"></p></form>`
}
