import type { Rule } from '#lib/automations/rules.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, fieldHtml, optionsOf } from '#web/layout/field.ts'
import { conditionField } from '#web/layout/named_field.ts'
import type { Form } from '#web/request/form.ts'
import type { Problem } from '#web/request/visit.ts'

const OPERATORS = 'eq neq gt gte lt lte contains starts_with ends_with exists is_empty'.split(' ')

/** Number of empty rows at the end of the form. */
const EMPTY_ROWS = 2
const MAX_CONDITIONS = 50

type Condition = Extract<Rule, { type: 'rule' }>

/** Form fields for a rule: a row per condition, or a JSON field if the rule has nested groups. */
export function ruleHtml(rule: Rule | null, event_only: boolean, problem: Problem | null): Html {
  const conditions = conditionsOf(rule)
  if (!conditions) return fieldHtml(jsonField(rule), '', problem)
  const typed = problem ? readRows(problem.form).length : 0
  const count = Math.min(Math.max(conditions.length, typed) + EMPTY_ROWS, MAX_CONDITIONS)
  const join: Field = {
    ...{ name: 'join', label: 'Match', type: 'select', value: rule?.type === 'or' ? 'or' : 'and' },
    options: [
      ['and', 'all conditions'],
      ['or', 'any condition'],
    ],
  }
  const rows = Array.from({ length: count }, (_, n) => rowHtml(n, conditions[n], event_only, problem))
  return html`${rows}${fieldHtml(join, '', problem)}`
}

function rowHtml(n: number, condition: Condition | undefined, event_only: boolean, problem: Problem | null): Html {
  const { field, operator } = condition ?? { field: '', operator: 'eq' }
  const fields: Field[] = [
    {
      ...{ name: conditionField(n, 'field'), label: 'Field', value: field },
      hint: event_only
        ? 'For example, event.plan.'
        : 'For example, contact.email, contact.properties.plan or event.plan.',
    },
    {
      ...{ name: conditionField(n, 'operator'), label: 'Operator', type: 'select', value: operator },
      options: optionsOf(OPERATORS),
    },
    {
      ...{
        name: conditionField(n, 'value'),
        label: 'Value',
        value: condition && 'value' in condition ? formatValue(condition) : '',
      },
      hint: 'Text, a number, true, false or null. In double quotes, a value is always text.',
    },
  ]
  return html`<fieldset><legend>Condition ${n + 1}</legend>${fields.map(one => fieldHtml(one, '', problem))}</fieldset>`
}

function jsonField(rule: Rule | null): Field {
  return { name: 'rule', label: 'Rule (JSON)', type: 'textarea', value: JSON.stringify(rule, null, 2) }
}

/** Returns the conditions of a rule; null if it has nested groups. */
function conditionsOf(rule: Rule | null): Condition[] | null {
  if (rule === null) return []
  if (rule.type === 'rule') return [rule]
  return rule.rules.every(one => one.type === 'rule') ? (rule.rules as Condition[]) : null
}

/** Returns the text that `parseValue` reads as this value: in quotes only if needed. Fields lose line breaks and outer blanks. */
function formatValue({ value }: { value?: unknown }): string {
  const isPlain = typeof value === 'string' && !/^\s|[\r\n]|\s$/.test(value) && parseValue(value) === value
  return isPlain ? value : JSON.stringify(value)
}

function parseValue(text: string): unknown {
  if (!/^(?:true|false|null|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|".*")$/s.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text // such as 007, or text that contains quotes
  }
}

/** Reads the rule of a form, which the operation validates; null if all fields are empty. @throws {ApiError} */
export function readRule(form: Form): unknown {
  if (form.has('rule')) return form.json('rule') ?? null
  const rows = readRows(form)
  return rows.length > 1 ? { type: form.text('join'), rules: rows } : (rows[0] ?? null)
}

function readRows(form: Form): object[] {
  const rows = Array.from({ length: MAX_CONDITIONS }, (_, n) => {
    const text = (member: string) => form.text(conditionField(n, member))
    const [field, operator, value] = [text('field'), text('operator'), text('value')]
    const needsNoValue = operator === 'exists' || operator === 'is_empty'
    const given = needsNoValue && value === '' ? {} : { value: parseValue(value) }
    return { field, row: { type: 'rule', field, operator, ...given }, isEmpty: field === '' && value === '' }
  })
  return rows.filter(({ isEmpty }) => !isEmpty).map(({ row }) => row)
}
