import type { Rule } from '#lib/automations/rules.ts'
import { isDate } from '#lib/events/new_definition.ts'
import { type Facts, readValue } from './facts.ts'

/**
 * Tells whether a rule matches. Text is compared as in segments: `eq` exactly, `contains` and the like ignoring case. Numbers are
 * compared with numbers and dates with dates; other pairs are neither greater nor less. A missing value equals null, contains
 * nothing, and differs from all other values. `exists` and `is_empty` read the contact's own properties, all other operators the
 * fallback values too.
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

/** Returns the difference, or NaN, which is neither greater nor less than 0, if the values cannot be compared. */
function difference(found: unknown, value: number | string): number {
  if (typeof value === 'number') return typeof found === 'number' ? found - value : Number.NaN
  return timeOf(found) - timeOf(value)
}

/** Returns ms since 1970. A date stands for midnight UTC, and a time without an offset is in UTC. NaN for all other values. */
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

/** Returns strings and numbers as lower-case text; an empty string for values without text. */
function fold(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).toLowerCase() : ''
}
