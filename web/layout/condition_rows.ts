import { type Html, html } from '#web/html.ts'
import type { Form } from '#web/request/form.ts'
import type { Problem } from '#web/request/visit.ts'
import { type Field, fieldHtml, withValue } from './field.ts'
import { conditionField } from './named_field.ts'

/** Number of empty rows at the end of the form. */
const EMPTY_ROWS = 2
const MAX_CONDITIONS = 50

/** Operators whose names in the API are no words. */
const OPERATOR_NAMES: Record<string, string> = {
  eq: 'is',
  neq: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
}

function nameOfOperator(operator: string): string {
  return OPERATOR_NAMES[operator] ?? operator.replaceAll('_', ' ')
}

/** A condition in words. `value` is undefined if the operator takes none. */
export function conditionWords(field: string, operator: string, value: unknown): Html {
  return html`${field} ${nameOfOperator(operator)} ${value === undefined ? '' : JSON.stringify(value)}`
}

const JOINS = { and: 'all of these are true:', or: 'any of these is true:', not: 'this is not true:' }

/** Conditions that are combined, to follow the word `if`. */
export function groupWords(join: keyof typeof JOINS, conditions: Html[]): Html {
  if (conditions.length === 1 && join !== 'not') return conditions[0] as Html
  return html`${JOINS[join]}<ul>${conditions.map(one => html`<li>${one}</li>`)}</ul>`
}

/** A condition as its row shows it. */
export type Row = { field: string; operator: string; value: string }

type Rows = {
  rows: Row[]
  join: 'and' | 'or'
  operators: readonly string[]
  /** Without options, the field is typed. */
  fields?: readonly (readonly [value: string, name: string])[]
  field_hint?: string
  value_hint: string
}

/** Form fields for conditions, a row for each, and for how they are combined. */
export function conditionRows(parts: Rows, problem: Problem | null): Html {
  const { rows, join } = parts
  const typed = problem ? readRows(problem.form).length : 0
  const count = Math.min(Math.max(rows.length, typed) + EMPTY_ROWS, MAX_CONDITIONS)
  const joined: Field = {
    ...{ name: 'join', label: 'Match', type: 'select', value: join },
    options: [
      ['and', 'all conditions'],
      ['or', 'any condition'],
    ],
  }
  const shown = Array.from({ length: count }, (_, n) => rowHtml(n, rows[n], parts, problem))
  return html`${shown}${fieldHtml(joined, '', problem)}`
}

function rowHtml(n: number, row: Row | undefined, parts: Rows, problem: Problem | null): Html {
  const { field, operator, value } = row ?? { field: '', operator: 'eq', value: '' }
  const { operators, fields: choices, field_hint: hint, value_hint } = parts
  const choice = choices
    ? { type: 'select' as const, options: [['', 'None'] as const, ...withValue(choices, field)] }
    : {}
  const fields: Field[] = [
    { name: conditionField(n, 'field'), label: 'Field', value: field, ...choice, ...(hint ? { hint } : {}) },
    {
      ...{ name: conditionField(n, 'operator'), label: 'Operator', type: 'select', value: operator },
      options: operators.map(name => [name, nameOfOperator(name)] as const),
    },
    { name: conditionField(n, 'value'), label: 'Value', value, hint: value_hint },
  ]
  return html`<fieldset><legend>Condition ${n + 1}</legend>${fields.map(one => fieldHtml(one, '', problem))}</fieldset>`
}

/** Reads the rows that are not empty. */
export function readRows(form: Form): Row[] {
  const rows = Array.from({ length: MAX_CONDITIONS }, (_, n) => {
    const text = (member: string) => form.text(conditionField(n, member))
    return { field: text('field'), operator: text('operator'), value: text('value') }
  })
  return rows.filter(({ field, value }) => field !== '' || value !== '')
}

/** Returns the text that `parseValue` reads as this value: in quotes only if needed. Fields lose line breaks and outer blanks. */
export function formatValue(value: unknown): string {
  if (value === undefined) return ''
  const isPlain = typeof value === 'string' && !/^\s|[\r\n]|\s$/.test(value) && parseValue(value) === value
  return isPlain ? value : JSON.stringify(value)
}

/** Reads a number, true, false or null, or text. Text in double quotes is always text. */
export function parseValue(text: string): unknown {
  if (!/^(?:true|false|null|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|".*")$/s.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text // such as 007, or text that contains quotes
  }
}
