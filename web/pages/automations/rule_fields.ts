import type { Rule } from '#lib/automations/rules.ts'
import type { Html } from '#web/html.ts'
import {
  conditionRows,
  conditionWords,
  formatValue,
  groupWords,
  parseValue,
  readRows,
} from '#web/layout/condition_rows.ts'
import { type Field, fieldHtml } from '#web/layout/field.ts'
import type { Form } from '#web/request/form.ts'
import type { Problem } from '#web/request/visit.ts'

const OPERATORS = 'eq neq gt gte lt lte contains starts_with ends_with exists is_empty'.split(' ')

type Condition = Extract<Rule, { type: 'rule' }>

/** Form fields for a rule: a row per condition, or a JSON field if the rule has nested groups. */
export function ruleHtml(rule: Rule | null, event_only: boolean, problem: Problem | null): Html {
  const conditions = conditionsOf(rule)
  if (!conditions) return fieldHtml(jsonField(rule), '', problem)
  const rows = conditions.map(condition => ({
    ...{ field: condition.field, operator: condition.operator },
    value: 'value' in condition ? formatValue(condition.value) : '',
  }))
  const field_hint = event_only
    ? 'For example, event.plan.'
    : 'For example, contact.email, contact.properties.plan or event.plan.'
  const value_hint = 'Text, a number, true, false or null. In double quotes, a value is always text.'
  const join = rule?.type === 'or' ? 'or' : 'and'
  return conditionRows({ rows, join, operators: OPERATORS, field_hint, value_hint }, problem)
}

/** A rule in words, to follow the word `if`. */
export function ruleWords(rule: Rule): Html {
  if ('rules' in rule) return groupWords(rule.type, rule.rules.map(ruleWords))
  return conditionWords(rule.field, rule.operator, 'value' in rule ? rule.value : undefined)
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

/** Reads the rule of a form, which the operation validates; null if all fields are empty. @throws {ApiError} */
export function readRule(form: Form): unknown {
  if (form.has('rule')) return form.json('rule') ?? null
  const rules = readRows(form).map(({ field, operator, value }) => {
    const needsNoValue = operator === 'exists' || operator === 'is_empty'
    return { type: 'rule', field, operator, ...(needsNoValue && value === '' ? {} : { value: parseValue(value) }) }
  })
  return rules.length > 1 ? { type: form.text('join'), rules } : (rules[0] ?? null)
}
