import type { Contact } from '#sql/contacts/contacts.ts'
import { type Html, html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { shownValue } from '#web/layout/form.ts'
import type { Form } from '#web/request/form.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Row = Wire<Contact>

/** The fields of a new contact of this domain. */
export function fieldsOf(domains: readonly (readonly [string, string])[], domain: string): Field[] {
  return [
    { name: 'email', label: 'Email address', type: 'email', required: true },
    { name: 'domain', label: 'Domain', type: 'select', options: domains, value: domain },
    ...namesOf(),
  ]
}

/** The fields of a contact, except its address. */
export function namesOf(person?: Row): Field[] {
  return [
    { name: 'first_name', label: 'First name', value: person?.first_name },
    { name: 'last_name', label: 'Last name', value: person?.last_name },
    {
      ...{
        name: 'properties',
        label: 'Properties',
        type: 'textarea',
        rows: 3,
        hint: 'JSON, for example: {"plan":"gold"}',
      },
      value: person ? propertiesText(person) : '',
    },
  ]
}

/** Returns the properties as JSON; empty if there are none. */
function propertiesText({ properties }: Row): string {
  return Object.keys(properties).length > 0 ? JSON.stringify(properties) : ''
}

/** Reads a new contact. Empty fields are left out, since the address may be that of a contact which has values for them. */
export function readNewContact(form: Form) {
  const names = { first_name: form.optional('first_name'), last_name: form.optional('last_name') }
  return { ...names, properties: form.json('properties') }
}

const NAMES = ['first_name', 'last_name'] as const

/** Returns hidden fields with the values that the form shows, for `readContact`. */
export function shownFields(visit: Visit, person: Row): Html {
  const names = NAMES.map(name => shownValue(visit, `shown_${name}`, person[name] ?? ''))
  return html`${names}${shownValue(visit, 'shown', propertiesText(person))}`
}

/** Reads a change of a contact. Names that the form has shown are left out: they may have changed since. */
export function readContact(form: Form) {
  const changed = NAMES.filter(name => form.text(name) !== form.text(`shown_${name}`))
  return {
    ...Object.fromEntries(changed.map(name => [name, form.textOrNull(name)])),
    properties: changedProperties(form),
  }
}

/**
 * Returns the properties that differ from those that the form has shown; null for those that were removed. The others are left
 * out: they may be fallback values, which would become values of the contact, or may have changed since.
 */
function changedProperties(form: Form): unknown {
  const [given, shown] = [form.json('properties') ?? {}, Object(form.json('shown'))]
  if (typeof given !== 'object' || Array.isArray(given)) return given // the operation rejects it
  const removed = Object.keys(shown).filter(key => !Object.hasOwn(given, key))
  const changed = Object.entries(given).filter(([key, value]) => value !== shown[key])
  return Object.fromEntries([...removed.map(key => [key, null]), ...changed])
}
