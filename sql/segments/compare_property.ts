import type { FragmentSqlToken } from '@slonik/sql-tag'
import type { PropertyCondition } from '#lib/segments/conditions.ts'
import { sql } from '#sql/pool.ts'
import { containsText } from './contains_text.ts'
import type { Terms } from './terms.ts'

const OPERATORS = {
  gt: sql.fragment`>`,
  gte: sql.fragment`>=`,
  lt: sql.fragment`<`,
  lte: sql.fragment`<=`,
}

/**
 * Returns a condition on `contacts c`, or null if the property does not exist. `exists` looks at own values; all other
 * operators at the value that GET shows: the contact's own, else the fallback. `parts`: what it may contain.
 */
export function compareProperty(
  condition: PropertyCondition,
  { properties }: Terms,
  parts: string[],
): FragmentSqlToken | null {
  const property = properties.get(condition.field.slice('properties.'.length))
  if (!property) return null
  const { stored_as, fallback_value: fallback } = property
  const hasOwn = sql.fragment`c.properties ? ${stored_as}`
  switch (condition.operator) {
    case 'exists':
      return hasOwn
    case 'eq': {
      // By containment, which the index of values supports.
      const isOwn = sql.fragment`c.properties @> ${JSON.stringify({ [stored_as]: condition.value })}::jsonb`
      return condition.value === fallback ? sql.fragment`(${isOwn} OR NOT ${hasOwn})` : isOwn
    }
    case 'contains': {
      const own = sql.fragment`c.properties ->> ${stored_as}::text`
      const shown = fallback === null ? own : sql.fragment`coalesce(${own}, ${String(fallback)})`
      return containsText(shown, parts)
    }
    default: {
      // As JSON: another account's property of this name may be a text that is not a number, which a cast would reject.
      const own = sql.fragment`c.properties -> ${stored_as}::text`
      const shown = fallback === null ? own : sql.fragment`coalesce(${own}, ${JSON.stringify(fallback)}::jsonb)`
      return sql.fragment`${shown} ${OPERATORS[condition.operator]} ${JSON.stringify(condition.value)}::jsonb`
    }
  }
}
