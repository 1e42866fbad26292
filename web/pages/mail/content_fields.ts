import type { Field } from '#web/layout/field.ts'
import type { Form } from '#web/request/form.ts'

type Parts = { html?: string | null | undefined; text?: string | null | undefined }

/** The fields for the parts of an email. `html`: what differs in the first of them. */
export function contentFields(found: Parts | undefined, html: Partial<Field>): Field[] {
  return [
    { name: 'html', label: 'HTML', type: 'textarea', rows: 16, value: found?.html, ...html },
    {
      name: 'text',
      label: 'Text',
      type: 'textarea',
      value: found?.text,
      hint: 'Leave empty to generate it from the HTML.',
    },
    { name: 'no_text', label: 'Send no plain-text part', type: 'checkbox', value: found?.text === '' },
  ]
}

/** Reads the text part: empty if there should be none, null if it is generated. */
export function readText(form: Form): string | null {
  if (form.has('no_text')) return ''
  return form.text('text') ? form.raw('text') : null
}
