import fc from 'fast-check'
import {
  type Condition,
  type Criteria,
  type Filter,
  MAX_CONDITIONS,
  type PropertyFilter,
  type Rules,
  totalWeight,
} from '#lib/segments/conditions.ts'
import type { Surroundings } from './evaluate.ts'
import { KEYS, NUMBERS, TEXTS } from './people.ts'

const EVENTS = ['opened', 'not_opened', 'clicked', 'not_clicked'] as const

/** Random bodies of POST /segments; their rules may refer to `segments`. */
export function criteria(
  around: Surroundings,
  segments: string[],
): fc.Arbitrary<{ filter: Filter; rules: Rules | null }> {
  return fc
    .record({
      filter: filter(around),
      rules: fc.option(fc.oneof(rules(condition(around, segments)), alternatives), { freq: 5 }),
    })
    .filter(isAccepted)
}

function isAccepted(given: Criteria): boolean {
  return totalWeight(given) <= MAX_CONDITIONS
}

const text = fc.constantFrom(...TEXTS)
const number = fc.constantFrom(...NUMBERS)
const days = fc.constantFrom(1, 4, 11, 60, 365)
const emailPart = fc.constantFrom('ANN', '@acme.com', '50%', 'a_b', '.1', '%', '\\', "o'b", 'nobody@', '-')

function filter({ campaigns }: Surroundings): fc.Arbitrary<Filter> {
  const engagement = fc.record({ event: fc.constantFrom(...EVENTS), campaign_id: fc.constantFrom(...campaigns) })
  return fc.record({
    status: fc.constantFrom(
      'all' as const,
      'all' as const,
      'subscribed' as const,
      'unsubscribed' as const,
      'members_only' as const,
    ),
    email_contains: fc.option(emailPart, { freq: 2 }),
    property_filters: fc.array(propertyFilter, { maxLength: 2 }),
    engagement: fc.option(engagement, { freq: 2 }),
  })
}

const key = fc.constantFrom(...(Object.keys(KEYS) as (keyof typeof KEYS)[]))

const propertyFilter = key.chain((key): fc.Arbitrary<PropertyFilter> => {
  const exists = fc.constant({ key, operator: 'exists' as const })
  if (KEYS[key] === 'number')
    return fc.oneof(
      exists,
      number.map(value => ({ key, operator: 'eq' as const, value })),
    )
  const operator = fc.constantFrom('eq' as const, 'contains' as const)
  return fc.oneof(exists, fc.record({ key: fc.constant(key), operator, value: text }))
})

const contains = fc.record({
  field: fc.constantFrom('first_name', 'last_name', 'properties.plan', 'properties.city'),
  operator: fc.constant('contains'),
  value: text,
}) as fc.Arbitrary<Condition>

/** Several parts of few texts. */
const alternatives: fc.Arbitrary<Rules> = fc
  .array(contains, { minLength: 2, maxLength: 10 })
  .chain(or => fc.constantFrom({ or }, { not: { or } }))

function condition({ topics, campaigns }: Surroundings, segments: string[]): fc.Arbitrary<Condition> {
  const scope = fc.oneof(
    fc.constantFrom(...campaigns).map(campaign_id => ({ campaign_id })),
    days.map(within_days => ({ within_days })),
    fc.constantFrom(1, 2, 5).map(count => ({ count })),
  )
  const property = fc.oneof(
    propertyFilter.map(({ key, ...rest }) => ({ field: `properties.${key}`, ...rest })),
    fc.record({
      field: fc.constantFrom('properties.seats', 'properties.score'),
      operator: fc.constantFrom('gt', 'gte', 'lt', 'lte'),
      value: number,
    }),
  )
  const some: fc.Arbitrary<object>[] = [
    fc.record({ field: fc.constant('email'), operator: fc.constant('contains'), value: emailPart }),
    fc.record({
      field: fc.constantFrom('first_name', 'last_name'),
      operator: fc.constantFrom('eq', 'contains'),
      value: text,
    }),
    fc.record({ field: fc.constantFrom('first_name', 'last_name'), operator: fc.constant('exists') }),
    fc.record({ field: fc.constant('created_at'), operator: fc.constant('within_days'), value: days }),
    fc.record({
      field: fc.constant('created_at'),
      operator: fc.constantFrom('before', 'after'),
      value: days.map(days => new Date(Date.now() - days * 86_400_000).toISOString()),
    }),
    fc.record({ field: fc.constant('unsubscribed'), operator: fc.constant('eq'), value: fc.boolean() }),
    fc.record({
      field: fc.constant('topic'),
      operator: fc.constant('eq'),
      value: fc.constantFrom(...Object.keys(topics)),
    }),
    fc.record({ field: fc.constant('engagement'), operator: fc.constantFrom(...EVENTS), value: scope }),
    property,
    property,
  ]
  if (segments.length > 0) {
    const value = fc.constantFrom(...segments)
    some.push(fc.record({ field: fc.constant('segment'), operator: fc.constant('eq'), value }))
  }
  return fc.oneof(...some) as fc.Arbitrary<Condition>
}

/** At most five levels. */
function rules(leaf: fc.Arbitrary<Condition>): fc.Arbitrary<Rules> {
  return fc.letrec<{ rules: Rules }>(tie => ({
    rules: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      leaf,
      fc.array(tie('rules'), { minLength: 1, maxLength: 3 }).map(and => ({ and })),
      fc.array(tie('rules'), { minLength: 1, maxLength: 3 }).map(or => ({ or })),
      tie('rules').map(not => ({ not })),
    ),
  })).rules
}
