import type { PropertyValue } from '#lib/contacts/new_property.ts'

/** A condition on one field of a contact. `value` is missing only if the operator takes none. */
export type Condition =
  | { field: 'email'; operator: 'eq' | 'contains'; value: string }
  | { field: 'first_name' | 'last_name'; operator: 'eq' | 'contains'; value: string }
  | { field: 'first_name' | 'last_name'; operator: 'exists' }
  | TimeCondition
  | { field: 'unsubscribed'; operator: 'eq'; value: boolean }
  | { field: 'topic' | 'segment'; operator: 'eq'; value: string }
  | { field: 'engagement'; operator: EngagementEvent; value: EngagementScope }
  | PropertyCondition

type TimeCondition =
  | { field: 'created_at'; operator: 'before' | 'after'; value: string }
  | { field: 'created_at'; operator: 'within_days'; value: number }

export type PropertyCondition =
  | { field: PropertyField; operator: 'eq'; value: PropertyValue }
  | { field: PropertyField; operator: 'contains'; value: string }
  | { field: PropertyField; operator: 'gt' | 'gte' | 'lt' | 'lte'; value: number }
  | { field: PropertyField; operator: 'exists' }
export type PropertyField = `properties.${string}`

export type EngagementEvent = 'opened' | 'not_opened' | 'clicked' | 'not_clicked'

/** For one campaign, within this many days, or this many times; the latter two for all campaigns. */
export type EngagementScope = { campaign_id: string } | { within_days: number } | { count: number }

/** Conditions and how they are combined. */
export type Rules = { and: Rules[] } | { or: Rules[] } | { not: Rules } | Condition

/** The filter of a segment (POST /segments). A contact must meet all of its members, and the rules too. */
export type Filter = {
  status: 'all' | 'subscribed' | 'unsubscribed' | 'members_only'
  email_contains: string | null
  property_filters: PropertyFilter[]
  engagement: { event: EngagementEvent; campaign_id: string } | null
}
export type PropertyFilter = { key: string; operator: 'eq' | 'contains' | 'exists'; value?: PropertyValue | undefined }

/** Conditions that decide who is in a segment, in addition to contacts that were added by hand. */
export type Criteria = { filter: Filter; rules: Rules | null }

/** Maximum conditions of a segment, of its filter and its rules together, by `weightOf`: a million contacts then take up to 6 s. */
export const MAX_CONDITIONS = 50

/**
 * Returns 3 for a condition with `contains`, which reads a text of every contact, or with `engagement`, which reads a row of
 * another table for every contact; 1 for others.
 */
function weightOf({ field, operator }: Pick<Condition, 'field' | 'operator'>): number {
  return operator === 'contains' || field === 'engagement' ? 3 : 1
}

/** Returns the weight of all conditions together. */
export function totalWeight(criteria: Criteria): number {
  return allConditions(criteria).reduce((sum, { condition }) => sum + weightOf(condition), 0)
}

/** Matches every contact. */
export const NO_FILTER: Filter = { status: 'all', email_contains: null, property_filters: [], engagement: null }

/** A condition with its path in a request, for errors. */
export type PlacedCondition = { condition: Condition; place: string }

/**
 * Returns the conditions of a filter, all of which must be met. The status `members_only`, which matches nobody, is not included.
 */
export function conditionsOf({ status, email_contains, property_filters, engagement }: Filter): PlacedCondition[] {
  const conditions: PlacedCondition[] = property_filters.map(({ key, operator, value }, index) => ({
    condition: { field: `properties.${key}`, operator, ...(value === undefined ? {} : { value }) } as PropertyCondition,
    place: `filter.property_filters[${index}]`,
  }))
  if (status === 'subscribed' || status === 'unsubscribed') {
    const condition = { field: 'unsubscribed', operator: 'eq', value: status === 'unsubscribed' } as const
    conditions.push({ condition, place: 'filter.status' })
  }
  if (email_contains !== null) {
    const condition = { field: 'email', operator: 'contains', value: email_contains } as const
    conditions.push({ condition, place: 'filter.email_contains' })
  }
  if (engagement) {
    const { event, campaign_id } = engagement
    const condition = { field: 'engagement', operator: event, value: { campaign_id } } as const
    conditions.push({ condition, place: 'filter.engagement' })
  }
  return conditions
}

/** Returns the conditions of rules in their order. */
function conditionsWithin(rules: Rules, place = 'rules'): PlacedCondition[] {
  if ('and' in rules) return rules.and.flatMap((child, n) => conditionsWithin(child, `${place}.and[${n}]`))
  if ('or' in rules) return rules.or.flatMap((child, n) => conditionsWithin(child, `${place}.or[${n}]`))
  if ('not' in rules) return conditionsWithin(rules.not, `${place}.not`)
  return [{ condition: rules, place }]
}

/** Returns all conditions of a segment. */
export function allConditions({ filter, rules }: Criteria): PlacedCondition[] {
  return [...conditionsOf(filter), ...(rules ? conditionsWithin(rules) : [])]
}

/** Tells whether criteria match every contact of their domain, as those of General do. */
export function findsAll({ filter, rules }: Criteria): boolean {
  return rules === null && filter.status === 'all' && conditionsOf(filter).length === 0
}

/**
 * Tells whether all matching contacts must meet a condition that has an index: a value of a property, or a campaign that was
 * opened or clicked.
 */
export function hasIndex({ filter, rules }: Criteria): boolean {
  const met = [...conditionsOf(filter).map(({ condition }) => condition), ...(rules ? metByAll(rules) : [])]
  return met.some(({ field, operator }) =>
    field === 'engagement' ? !operator.startsWith('not_') : field.startsWith('properties.') && operator === 'eq',
  )
}

function metByAll(rules: Rules): Condition[] {
  if ('and' in rules) return rules.and.flatMap(metByAll)
  return 'or' in rules || 'not' in rules ? [] : [rules]
}
