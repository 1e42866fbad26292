import { atOnce } from '#lib/async/time_slice.ts'
import type { Source } from '#lib/contents/compile_content.ts'
import { LONGEST_LINKS, personalLink } from '#lib/templates/personal_links.ts'
import { type Placeholder, placeholders } from '#lib/templates/placeholders.ts'
import { type Lookup, render, type Value } from '#lib/templates/render.ts'

/** A key that placeholders name. `has_fallback`: all its placeholders have a fallback. */
export type ContentKey = { key: string; has_fallback: boolean }

type Values = Record<string, Value | null | undefined>

/**
 * A recipient of mail to contacts. `properties` are its own; `property_fallbacks` are those of the account, `template_fallbacks`
 * those of the template's variables. `variables` are given for this email.
 */
export type ValuedRecipient = {
  email: string
  first_name: string | null
  last_name: string | null
  properties: Values
  property_fallbacks?: Values
  template_fallbacks?: Values
  variables?: Values
}

const CONTACT = 'contact.'
const PROPERTIES = 'contact.properties.'
/** Prefix for renamed keys that nobody writes by hand. */
const RENAMED = CONTACT.repeat(3)

/** Returns the keys of a content, in order, without those of links. @throws {ApiError} if there are too many placeholders */
export function listContentKeys(...sources: (string | null)[]): ContentKey[] {
  const keys = new Map<string, boolean>()
  for (const { key, fallback } of sources.flatMap(slotsOf)) {
    keys.set(key, (keys.get(key) ?? true) && fallback !== undefined)
  }
  return [...keys].map(([key, has_fallback]) => ({ key, has_fallback }))
}

/** Returns the properties that a subject or a content with these keys may name, without the prefixes of their keys. */
export function listPropertyKeys(subjects: string[], keys: ContentKey[]): string[] {
  return [...new Set([...listContentKeys(...subjects), ...keys].map(({ key }) => withoutScope(key)))]
}

/**
 * If a key has placeholders with a fallback and others without one, renames the latter in the source: only they get the fallback
 * of a property, and a content has one value per key. `__proto__` is renamed too, since it cannot be a key of values.
 */
export function renameBareKeys({ html, text }: Source): Source {
  const slots = [html, text].flatMap(slotsOf)
  const withFallback = new Set(slots.filter(({ fallback }) => fallback !== undefined).map(({ key }) => key))
  const rename = (source: string | null) => {
    if (!source) return source
    let end = 0
    let renamed = ''
    for (const { start, next, key, fallback, is_raw } of slotsOf(source)) {
      const name = withoutScope(key)
      const isRenamed = fallback === undefined && (withFallback.has(key) || key === '__proto__')
      if (!isRenamed || !/^\w+$/.test(name)) continue
      const [open, close] = is_raw ? ['{{{', '}}}'] : ['{{', '}}']
      renamed += `${source.slice(end, start)}${open}${RENAMED}${name}${close}`
      end = next
    }
    return renamed + source.slice(end)
  }
  return { html: rename(html), text: rename(text) }
}

/** Undoes the renaming in a piece of such a source. */
export function writtenNames(text: string): string {
  return text.replaceAll(`{{${RENAMED}`, '{{')
}

/**
 * Returns the lookup of values for mail to a contact, in this order: variables of the email, built-ins,
 * properties, fallbacks; an empty string if there is none. The fallback of a placeholder takes precedence over that of a
 * property.
 */
export function recipientLookup(recipient: ValuedRecipient): Lookup {
  const { email, first_name, last_name, properties, property_fallbacks, template_fallbacks, variables } = recipient
  const builtIns: Values = { email, first_name, last_name, EMAIL: email, FIRST_NAME: first_name, LAST_NAME: last_name }
  return (written, has_fallback) => {
    const key = withoutScope(written)
    if (personalLink(key, LONGEST_LINKS) !== undefined) return undefined
    const places = has_fallback
      ? [variables, builtIns, properties, template_fallbacks]
      : [variables, builtIns, properties, property_fallbacks, template_fallbacks]
    const known = places.map(values => ownValue(values, key)).find(value => value !== undefined)
    return known ?? (has_fallback ? undefined : '')
  }
}

/** Returns the values of a content's keys for a recipient. */
export function recipientValues(keys: ContentKey[], lookup: Lookup): Record<string, string> {
  const values: Record<string, string> = {}
  for (const { key, has_fallback } of keys) {
    const value = lookup(key, has_fallback)
    if (typeof value === 'string' || typeof value === 'number') values[key] = String(value)
  }
  return values
}

/** Returns a subject as for a recipient without any values. */
export function subjectForNobody(subject: string): string {
  const lookup = recipientLookup({ email: '', first_name: null, last_name: null, properties: {} })
  return atOnce(render(subject, 'subject', lookup)).trim()
}

function slotsOf(source: string | null): Placeholder[] {
  const found = [...placeholders(source ?? '')].filter(slot => slot !== null)
  return found.filter(({ key }) => personalLink(key, LONGEST_LINKS) === undefined)
}

/** Returns a key without `contact.` or `contact.properties.`, the prefixes that rules and steps use. */
function withoutScope(key: string): string {
  if (key.startsWith(PROPERTIES)) return key.slice(PROPERTIES.length)
  return key.startsWith(CONTACT) ? withoutScope(key.slice(CONTACT.length)) : key
}

/** Returns an own member of the values. An empty string counts as missing. */
function ownValue(values: Values | undefined, key: string): Value | undefined {
  const value = values && Object.hasOwn(values, key) ? values[key] : undefined
  return value === null || value === '' ? undefined : value
}
