import type { Condition, EngagementScope, Rules } from '#lib/segments/conditions.ts'
import type { ContactProperty } from '#sql/contacts/properties.ts'
import type { Segment } from '#sql/segments/segment_records.ts'
import type { Html } from '#web/html.ts'
import { conditionRows, formatValue, parseValue, type Row, readRows } from '#web/layout/condition_rows.ts'
import { type Field, fieldHtml, optionsOf } from '#web/layout/field.ts'
import { choicesOf } from '#web/pages/domains/own_domains.ts'
import { listAll } from '#web/request/call_api.ts'
import type { Form } from '#web/request/form.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Found = Wire<Segment>
type Choices = (readonly [value: string, name: string])[]

const OPERATORS =
  'eq contains exists gt gte lt lte before after within_days opened not_opened clicked not_clicked'.split(' ')
export const FIELDS: Choices = [
  ['email', 'Email'],
  ['first_name', 'First name'],
  ['last_name', 'Last name'],
  ['created_at', 'Created'],
  ['unsubscribed', 'Unsubscribed'],
  ['engagement', 'Engagement'],
]
const VALUE_HINT =
  'Text, a number, true or false. None for exists, a topic and a segment. For engagement, such as 30 days, 3 times, or the id of a campaign.'

/** The fields of the filter; without values for a new segment. */
export function filterFields(found?: Found): Field[] {
  return [
    {
      ...{ name: 'status', label: 'Contacts', type: 'select', value: found?.filter.status },
      options: [...optionsOf(['all', 'subscribed', 'unsubscribed']), ['members_only', 'only those added by hand']],
    },
    { name: 'email_contains', label: 'Address contains', value: found?.filter.email_contains },
  ]
}

/** A row for each condition of the rules, or a JSON field if they have nested groups. */
export async function rulesHtml(visit: Visit, rules: Rules | null): Promise<Html> {
  const conditions = conditionsOf(rules)
  if (!conditions) {
    const value = JSON.stringify(rules, null, 2)
    return fieldHtml({ name: 'rules', label: 'Rules (JSON)', type: 'textarea', rows: 12, value }, '', visit.problem)
  }
  const join = rules && 'or' in rules ? 'or' : 'and'
  const parts = { rows: conditions.map(toRow), join, operators: OPERATORS, value_hint: VALUE_HINT } as const
  return conditionRows({ ...parts, fields: await fieldChoices(visit) }, visit.problem)
}

/** Topics and other segments are fields of their own, so that nobody types their ids. */
async function fieldChoices(visit: Visit): Promise<Choices> {
  const topics = await choicesOf(visit, 'listTopics')
  const segments = (await choicesOf(visit, 'listSegments')).filter(([id]) => id !== visit.params.id)
  return [
    ...FIELDS,
    ...(await listProperties(visit)).map(({ key }) => [`properties.${key}`, `Property ${key}`] as const),
    ...topics.map(([id, name]) => [`topic ${id}`, `Topic ${name}`] as const),
    ...segments.map(([id, name]) => [`segment ${id}`, `Segment ${name}`] as const),
  ]
}

const listProperties = (visit: Visit) => listAll<Wire<ContactProperty>>(visit.call, 'listContactProperties')

/** Returns the conditions of rules; null if they have nested groups. */
function conditionsOf(rules: Rules | null): Condition[] | null {
  if (rules === null) return []
  if ('field' in rules) return [rules]
  if ('not' in rules) return null
  const children = 'and' in rules ? rules.and : rules.or
  return children.every(one => 'field' in one) ? children : null
}

function toRow(condition: Condition): Row {
  const { field, operator } = condition
  if (field === 'topic' || field === 'segment') return { field: `${field} ${condition.value}`, operator, value: '' }
  if (field === 'engagement') return { field, operator, value: formatScope(condition.value) }
  return { field, operator, value: 'value' in condition ? formatValue(condition.value) : '' }
}

function formatScope(scope: EngagementScope): string {
  if ('campaign_id' in scope) return scope.campaign_id
  return 'count' in scope ? `${scope.count} times` : `${scope.within_days} days`
}

function parseScope(text: string): object {
  const [, number, unit] = /^(\d+) *(day|time)s?$/.exec(text) ?? []
  if (number === undefined) return { campaign_id: text }
  return unit === 'day' ? { within_days: Number(number) } : { count: Number(number) }
}

/** Reads the conditions of a form, which the operation validates. @throws {ApiError} */
export async function readCriteria(visit: Visit, form: Form): Promise<object> {
  const filter = { status: form.optional('status'), email_contains: form.textOrNull('email_contains') }
  return { filter, rules: form.has('rules') ? (form.json('rules') ?? null) : await readRules(visit, form) }
}

async function readRules(visit: Visit, form: Form): Promise<object | null> {
  const strings = (await listProperties(visit)).filter(({ type }) => type === 'string')
  const texts = new Set(['email', 'first_name', 'last_name', ...strings.map(({ key }) => `properties.${key}`)])
  const rules = readRows(form).map(({ field, operator, value }) => {
    const [, group, id] = /^(topic|segment) (.*)$/.exec(field) ?? []
    if (group) return { field: group, operator, value: id }
    if (field === 'engagement') return { field, operator, value: parseScope(value) }
    if (operator === 'exists' && value === '') return { field, operator }
    const parsed = parseValue(value)
    return { field, operator, value: texts.has(field) && typeof parsed !== 'string' ? value : parsed }
  })
  return rules.length > 1 ? { [form.text('join')]: rules } : (rules[0] ?? null)
}
