import type { Rule } from '#lib/automations/rules.ts'
import { isDate } from '#lib/events/new_definition.ts'
import { type Facts, readValue } from './facts.ts'

/**
 * Tells whether a rule holds. Texts are compared as segments compare them: `eq` exactly, `contains` and the like in any case
 * of letters. Numbers are greater or less than numbers, dates later or earlier than dates, and nothing else. A value that is missing equals null, contains nothing, and is
 * different from all others. `exists` and `is_empty` look at the contact's own properties, all others at the fallback values too.
 */
export function matches(rule: Rule, facts: Facts): boolean {
  if ('rules' in rule) {
    const isMet = (each: Rule) => matches(each, facts)
    return rule.type === 'and' ? rule.rules.every(isMet) : rule.rules.some(isMet)
  }
  const own = () => readValue(rule.field, facts, { own: true })
  const found = readValue(rule.field, facts) ?? null
  switch (rule.operator) {
    case 'exists':
      return !isMissing(own())
    case 'is_empty':
      return isEmpty(own())
    case 'eq':
      return found === rule.value
    case 'neq':
      return found !== rule.value
    case 'gt':
      return difference(found, rule.value) > 0
    case 'gte':
      return difference(found, rule.value) >= 0
    case 'lt':
      return difference(found, rule.value) < 0
    case 'lte':
      return difference(found, rule.value) <= 0
    case 'contains':
      return Array.isArray(found)
        ? found.some(item => fold(item) === fold(rule.value))
        : fold(found).includes(fold(rule.value))
    case 'starts_with':
      return fold(found).startsWith(fold(rule.value))
    case 'ends_with':
      return fold(found).endsWith(fold(rule.value))
  }
}

/** NaN if they cannot be compared: it is neither greater nor less than 0. */
function difference(found: unknown, value: number | string): number {
  if (typeof value === 'number') return typeof found === 'number' ? found - value : Number.NaN
  return timeOf(found) - timeOf(value)
}

/** In ms. A date is its midnight in UTC, and a time of day without an offset is in UTC. NaN: it is neither. */
function timeOf(value: unknown): number {
  if (!isDate(value)) return Number.NaN
  const has_offset = !value.includes('T') || /(?:Z|[+-]\d\d:\d\d)$/.test(value)
  return Date.parse(has_offset ? value : `${value}Z`)
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null
}

function isEmpty(value: unknown): boolean {
  if (isMissing(value) || value === '') return true
  return typeof value === 'object' && Object.keys(value as object).length === 0
}

/** Numbers have text, as in a field of a form; what has none contains nothing. */
function fold(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).toLowerCase() : ''
}
