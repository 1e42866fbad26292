import type { Rule } from '#lib/automations/rules.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, fieldHtml, optionsOf } from '#web/layout/field.ts'
import { conditionField } from '#web/layout/named_field.ts'
import type { Form } from '#web/request/form.ts'
import type { Problem } from '#web/request/visit.ts'

const OPERATORS = 'eq neq gt gte lt lte contains starts_with ends_with exists is_empty'.split(' ')

/** Rows of a form beyond those that are filled. */
const SPARE = 2
/** As many as a rule may have conditions. */
const MOST = 50

type Condition = Extract<Rule, { type: 'rule' }>

/** Fields of a rule: a row for each condition, and JSON for groups inside a group. */
export function ruleHtml(rule: Rule | null, event_only: boolean, problem: Problem | null): Html {
  const conditions = flat(rule)
  if (!conditions) return fieldHtml(jsonField(rule), '', problem)
  const typed = problem ? readRows(problem.form).length : 0
  const count = Math.min(Math.max(conditions.length, typed) + SPARE, MOST)
  const joined: Field = {
    ...{ name: 'join', label: 'Of several conditions', type: 'select', value: rule?.type === 'or' ? 'or' : 'and' },
    options: [
      ['and', 'all must hold'],
      ['or', 'one must hold'],
    ],
  }
  const rows = Array.from({ length: count }, (_, n) => rowHtml(n, conditions[n], event_only, problem))
  return html`${rows}${fieldHtml(joined, '', problem)}`
}

function rowHtml(n: number, condition: Condition | undefined, event_only: boolean, problem: Problem | null): Html {
  const { field, operator } = condition ?? { field: '', operator: 'eq' }
  const fields: Field[] = [
    {
      ...{ name: conditionField(n, 'field'), label: 'Field', value: field },
      hint: event_only ? 'Such as event.plan.' : 'Such as contact.email, contact.properties.plan or event.plan.',
    },
    {
      ...{ name: conditionField(n, 'operator'), label: 'Operator', type: 'select', value: operator },
      options: optionsOf(OPERATORS),
    },
    {
      ...{
        name: conditionField(n, 'value'),
        label: 'Value',
        value: condition && 'value' in condition ? written(condition) : '',
      },
      hint: 'A text, a number, true, false or null. In double quotes it is a text in any case.',
    },
  ]
  return html`<fieldset><legend>Condition ${n + 1}</legend>${fields.map(one => fieldHtml(one, '', problem))}</fieldset>`
}

function jsonField(rule: Rule | null): Field {
  return { name: 'rule', label: 'Rule, as JSON', type: 'textarea', value: JSON.stringify(rule, null, 2) }
}

/** The conditions of a rule that has no groups in a group; null for one that has. */
function flat(rule: Rule | null): Condition[] | null {
  if (rule === null) return []
  if (rule.type === 'rule') return [rule]
  return rule.rules.every(one => one.type === 'rule') ? (rule.rules as Condition[]) : null
}

/** As it is typed: in quotes only if it would be read as something else. */
function written({ value }: { value?: unknown }): string {
  return typeof value === 'string' && readValue(value) === value ? value : JSON.stringify(value)
}

function readValue(text: string): unknown {
  if (!/^(?:true|false|null|-?\d+(?:\.\d+)?|".*")$/s.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text // such as 007, or a text with quotes of its own
  }
}

/** The rule of a form, for an operation to check; null if nothing was typed. @throws {ApiError} */
export function readRule(form: Form): unknown {
  if (form.has('rule')) return form.json('rule') ?? null
  const rows = readRows(form)
  return rows.length > 1 ? { type: form.text('join'), rules: rows } : (rows[0] ?? null)
}

function readRows(form: Form): object[] {
  const rows = Array.from({ length: MOST }, (_, n) => {
    const text = (member: string) => form.text(conditionField(n, member))
    const [field, operator, value] = [text('field'), text('operator'), text('value')]
    const takesNone = operator === 'exists' || operator === 'is_empty'
    const given = takesNone && value === '' ? {} : { value: readValue(value) }
    return { field, row: { type: 'rule', field, operator, ...given }, isEmpty: field === '' && value === '' }
  })
  return rows.filter(({ isEmpty }) => !isEmpty).map(({ row }) => row)
}
