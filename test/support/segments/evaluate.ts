import type { Filter, Rules } from '#lib/segments/conditions.ts'

type Activity = { last_at: Date | null; count: number }

/** A contact in the terms of the documentation of segments, with its own properties by key. */
export type Person = {
  id: string
  email: string
  first_name: string | null
  last_name: string | null
  unsubscribed: boolean
  created_at: Date
  own: Record<string, string | number>
  topics: Record<string, 'opt_in' | 'opt_out'>
  by_hand: string[]
  campaigns: Record<string, { sent: boolean; opened: boolean; clicked: boolean }>
  sent: Activity
  opened: Activity
  clicked: Activity
}

/** The rows of an account; missing ones were deleted. */
export type Surroundings = {
  fallbacks: Record<string, string | number | null>
  topics: Record<string, 'opt_in' | 'opt_out'>
  segments: Record<string, { filter: Filter; rules: Rules | null }>
  campaigns: string[]
}

/** Returns whether a person is in a segment: a simple implementation of filters and rules, one person at a time. */
export function isIn(
  person: Person,
  segment: { id: string; filter: Filter; rules: Rules | null },
  around: Surroundings,
): boolean {
  return person.by_hand.includes(segment.id) || isFoundBy(person, segment, around)
}

function isFoundBy(person: Person, { filter, rules }: { filter: Filter; rules: Rules | null }, around: Surroundings) {
  const { status, email_contains, property_filters, engagement } = filter
  if (status === 'members_only') return false
  if (status === 'subscribed' && person.unsubscribed) return false
  if (status === 'unsubscribed' && !person.unsubscribed) return false
  if (email_contains !== null && !person.email.includes(email_contains.toLowerCase())) return false
  for (const { key, operator, value } of property_filters) {
    if (meets(person, { field: `properties.${key}`, operator, value } as Rules, around) !== true) return false
  }
  if (engagement) {
    const { event, campaign_id } = engagement
    if (meets(person, { field: 'engagement', operator: event, value: { campaign_id } }, around) !== true) return false
  }
  return rules === null || meets(person, rules, around) === true
}

/** Null: it refers to something deleted, so that neither it nor its negation is true. */
function meets(person: Person, rules: Rules, around: Surroundings): boolean | null {
  if ('not' in rules) {
    const result = meets(person, rules.not, around)
    return result === null ? null : !result
  }
  if ('and' in rules) {
    const results = rules.and.map(child => meets(person, child, around))
    return results.includes(false) ? false : results.includes(null) ? null : true
  }
  if ('or' in rules) {
    const results = rules.or.map(child => meets(person, child, around))
    return results.includes(true) ? true : results.includes(null) ? null : false
  }
  const { field, operator } = rules
  const value = 'value' in rules ? rules.value : undefined
  switch (field) {
    case 'email':
      return operator === 'eq'
        ? person.email === String(value).toLowerCase()
        : person.email.includes(String(value).toLowerCase())
    case 'first_name':
    case 'last_name':
      return compare(person[field], person[field], operator, value)
    case 'created_at': {
      const time = person.created_at.getTime()
      if (operator === 'within_days') return time >= Date.now() - Number(value) * DAY
      return operator === 'before' ? time < Date.parse(String(value)) : time > Date.parse(String(value))
    }
    case 'unsubscribed':
      return person.unsubscribed === value
    case 'topic': {
      const usual = around.topics[String(value)]
      if (usual === undefined) return null
      return !person.unsubscribed && (person.topics[String(value)] ?? usual) === 'opt_in'
    }
    case 'segment': {
      const segment = around.segments[String(value)]
      return segment ? isIn(person, { id: String(value), ...segment }, around) : null
    }
    case 'engagement':
      return engaged(person, operator, value as Record<string, string | number>, around)
    default: {
      const key = field.slice('properties.'.length)
      const fallback = around.fallbacks[key]
      if (fallback === undefined) return null
      const own = person.own[key] ?? null
      return compare(own, own ?? fallback, operator, value)
    }
  }
}

const DAY = 86_400_000

function compare(own: unknown, shown: unknown, operator: string, value: unknown): boolean {
  if (operator === 'exists') return own !== null
  if (shown === null) return false
  switch (operator) {
    case 'eq':
      return shown === value
    case 'contains':
      return fold(String(shown)).includes(fold(String(value)))
    case 'gt':
      return Number(shown) > Number(value)
    case 'gte':
      return Number(shown) >= Number(value)
    case 'lt':
      return Number(shown) < Number(value)
    default:
      return Number(shown) <= Number(value)
  }
}

/** A final sigma equals any other. */
function fold(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

function engaged(
  person: Person,
  operator: string,
  scope: Record<string, string | number>,
  around: Surroundings,
): boolean | null {
  const verb = operator.endsWith('opened') ? ('opened' as const) : ('clicked' as const)
  const isNot = operator.startsWith('not_')
  const { campaign_id, within_days, count } = scope
  if (campaign_id !== undefined) {
    if (!around.campaigns.includes(String(campaign_id))) return null
    const state = person.campaigns[campaign_id]
    return isNot ? Boolean(state?.sent && !state[verb]) : Boolean(state?.[verb])
  }
  if (count !== undefined) {
    return isNot ? person.sent.count >= Number(count) && person[verb].count === 0 : person[verb].count >= Number(count)
  }
  const isRecent = ({ last_at }: Activity) =>
    last_at !== null && last_at.getTime() >= Date.now() - Number(within_days) * DAY
  return isNot ? isRecent(person.sent) && !isRecent(person[verb]) : isRecent(person[verb])
}
