import type { z } from 'zod'

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: '`true` or `false`',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const FORMATS: Record<string, string> = {
  datetime: 'an ISO 8601 timestamp with an offset, such as 2027-01-31T12:00:00Z',
  guid: 'an id: a UUID',
}

const UNITS: Record<string, string> = { string: 'characters', array: 'items' }

/**
 * Returns the requirement of a schema, which follows the name of the field: "must be a string". It replaces zod's words for
 * schemas without a message of their own.
 */
export function requirementOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected]}`
    case 'invalid_format':
      return issue.format === 'starts_with' ? `must begin with \`${issue.prefix}\`` : `must be ${FORMATS[issue.format]}`
    case 'invalid_value':
      return `must be ${orList(issue.values.map(String))}`
    case 'too_big':
      return bound(issue.origin, `at most ${issue.maximum.toLocaleString('en')}`)
    case 'too_small':
      if (issue.minimum === 1 && UNITS[issue.origin]) return 'must not be empty'
      return bound(issue.origin, `at least ${issue.minimum.toLocaleString('en')}`)
  }
}

function bound(origin: string, limit: string): string {
  const unit = UNITS[origin]
  return unit ? `must have ${limit} ${unit}` : `must be ${limit}`
}

/** "`a`, `b` or `c`" */
export function orList(values: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(values.map(value => `\`${value}\``))
}
