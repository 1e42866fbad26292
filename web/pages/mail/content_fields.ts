import type { Field } from '#web/layout/field.ts'
import type { Form } from '#web/request/form.ts'

type Parts = { html?: string | null | undefined; text?: string | null | undefined }

type Options = { html?: Partial<Field>; text?: Partial<Field>; prefix?: string }

/** The fields for the parts of an email. `html`, `text`: what differs in a field. `prefix`: of their names. */
export function contentFields(found: Parts | undefined, { html, text, prefix = '' }: Options): Field[] {
  return [
    { name: `${prefix}html`, label: 'HTML', type: 'textarea', rows: 16, value: found?.html, ...html },
    {
      name: `${prefix}text`,
      label: 'Text',
      type: 'textarea',
      value: found?.text,
      hint: 'Leave empty to generate it from the HTML.',
      ...text,
    },
    { name: `${prefix}no_text`, label: 'Send no plain-text part', type: 'checkbox', value: found?.text === '' },
  ]
}

/** Reads the HTML part; null if the field is empty. */
export function readHtml(form: Form, prefix = ''): string | null {
  return form.text(`${prefix}html`) ? form.raw(`${prefix}html`) : null
}

/** Reads the text part: empty if there should be none, null if it is generated. */
export function readText(form: Form, prefix = ''): string | null {
  if (form.has(`${prefix}no_text`)) return ''
  return form.text(`${prefix}text`) ? form.raw(`${prefix}text`) : null
}
