import type { FragmentSqlToken } from '@slonik/sql-tag'
import { searchedAddress } from '#lib/mail/address.ts'
import {
  type Condition,
  type Criteria,
  conditionsOf,
  type EngagementEvent,
  type EngagementScope,
  type Rules,
} from '#lib/segments/conditions.ts'
import { sql } from '#sql/pool.ts'
import { compareProperty } from './compare_property.ts'
import { containsText, escapeLike } from './contains_text.ts'
import { engaged } from './engaged.ts'
import type { PlanHint } from './plan_hints.ts'
import type { Terms } from './terms.ts'

const nobody = sql.fragment`false`

/**
 * Returns a condition on `contacts c`: the contact matches the filter and the rules of a segment. Excludes members by
 * hand, for whom there is `isMember`.
 */
export function isFound({ filter, rules }: Criteria, terms: Terms, hint: PlanHint): FragmentSqlToken {
  if (filter.status === 'members_only') return nobody
  const compiled = { terms, hint }
  const all = conditionsOf(filter).map(({ condition }) => compileRules(condition, compiled))
  return joined(rules ? [...all, compileRules(rules, compiled)] : all, sql.fragment` AND `, sql.fragment`true`)
}

/** Returns a condition on `contacts c`: the contact was added to a segment by hand. */
export function isMember(segment_id: string, hint: PlanHint): FragmentSqlToken {
  return sql.fragment`EXISTS (
    SELECT FROM segment_members m
    WHERE m.account_id = c.account_id AND m.segment_id = ${segment_id} AND m.contact_id = c.id ${hint})`
}

type Compiled = { terms: Terms; hint: PlanHint }

/**
 * Compiles rules. A negation is moved down to the conditions, so that a condition on something deleted matches nobody,
 * negated or not. Elsewhere null counts as false, so only a negated condition must handle it.
 */
function compileRules(rules: Rules, compiled: Compiled, isNegated = false): FragmentSqlToken {
  if ('not' in rules) return compileRules(rules.not, compiled, !isNegated)
  if ('and' in rules) {
    const parts = rules.and.map(child => compileRules(child, compiled, isNegated))
    return joined(parts, isNegated ? sql.fragment` OR ` : sql.fragment` AND `, nobody)
  }
  if ('or' in rules) {
    const groups = Map.groupBy(rules.or, child => (isContains(child) ? child.field : child))
    const parts = Array.from(groups.values(), group => compileAlternatives(group, compiled, isNegated))
    return joined(parts, isNegated ? sql.fragment` AND ` : sql.fragment` OR `, nobody)
  }
  return compileLeaf(rules, compiled, isNegated, isContains(rules) ? [rules.value] : [])
}

/** Compiles a single rule, or the parts that a text may contain: together, so that it is read once for each contact. */
function compileAlternatives(group: Rules[], compiled: Compiled, isNegated: boolean): FragmentSqlToken {
  const [first] = group as [Rules]
  if (!isContains(first)) return compileRules(first, compiled, isNegated)
  const parts = group.filter(isContains).map(({ value }) => value)
  return compileLeaf(first, compiled, isNegated, parts)
}

type Contains = Condition & { operator: 'contains'; value: string }

/** Excludes addresses, whose index finds a part. */
function isContains(rules: Rules): rules is Contains {
  return 'operator' in rules && rules.operator === 'contains' && rules.field !== 'email'
}

/** `parts`: what the text of the condition may contain. */
function compileLeaf(condition: Condition, compiled: Compiled, isNegated: boolean, parts: string[]): FragmentSqlToken {
  const found = compileCondition(condition, compiled, parts)
  if (found === null) return nobody
  return isNegated ? sql.fragment`(${found}) IS NOT TRUE` : found
}

function joined(parts: FragmentSqlToken[], glue: FragmentSqlToken, none: FragmentSqlToken): FragmentSqlToken {
  return parts.length === 0 ? none : sql.fragment`(${sql.join(parts, glue)})`
}

/** Returns null if the condition names something that was deleted. */
function compileCondition(condition: Condition, { terms, hint }: Compiled, parts: string[]): FragmentSqlToken | null {
  switch (condition.field) {
    case 'email': {
      const address = searchedAddress(condition.value).toLowerCase()
      // By LIKE, which the index of addresses supports.
      if (condition.operator === 'contains') return sql.fragment`c.email LIKE ${`%${escapeLike(address)}%`}`
      return sql.fragment`c.email = ${address}`
    }
    case 'first_name':
    case 'last_name': {
      const name = condition.field === 'first_name' ? sql.fragment`c.first_name` : sql.fragment`c.last_name`
      if (condition.operator === 'exists') return sql.fragment`${name} IS NOT NULL`
      if (condition.operator === 'eq') return sql.fragment`${name} = ${condition.value}`
      return containsText(name, parts)
    }
    case 'created_at':
      if (condition.operator === 'within_days') return sql.fragment`c.created_at >= ${daysAgo(condition.value)}`
      if (condition.operator === 'before') return sql.fragment`c.created_at < ${condition.value}::timestamptz`
      return sql.fragment`c.created_at > ${condition.value}::timestamptz`
    case 'unsubscribed':
      return condition.value ? sql.fragment`c.unsubscribed` : sql.fragment`NOT c.unsubscribed`
    case 'topic':
      return compileTopic(condition.value, terms, hint)
    case 'segment': {
      const segment = terms.segments.get(condition.value)
      if (!segment) return null
      // That segment names no other segment.
      const found = isFound(segment, { ...terms, segments: new Map() }, hint)
      return sql.fragment`(${found} OR ${isMember(segment.id, hint)})`
    }
    case 'engagement':
      return compileEngagement(condition.operator, condition.value, { terms, hint })
    default:
      return compareProperty(condition, terms, parts)
  }
}

/**
 * Returns a condition: the contact gets mail of a topic, by choice or default, and has not unsubscribed from
 * everything.
 */
function compileTopic(id: string, terms: Terms, hint: PlanHint): FragmentSqlToken | null {
  const topic = terms.topics.get(id)
  if (!topic) return null
  const chose = (subscription: string) => sql.fragment`EXISTS (
    SELECT FROM contact_topics t WHERE t.account_id = c.account_id AND t.contact_id = c.id AND t.topic_id = ${id}
      AND t.subscription = ${subscription} ${hint})`
  const isIn = topic.default_subscription === 'opt_in' ? sql.fragment`NOT ${chose('opt_out')}` : chose('opt_in')
  return sql.fragment`(NOT c.unsubscribed AND ${isIn})`
}

function compileEngagement(event: EngagementEvent, scope: EngagementScope, { terms, hint }: Compiled) {
  return 'campaign_id' in scope && !terms.campaigns.has(scope.campaign_id) ? null : engaged(event, scope, hint)
}

/** Returns the time some days of 24 hours ago, regardless of the time zone of the session. */
function daysAgo(days: number): FragmentSqlToken {
  return sql.fragment`now() - make_interval(hours => ${days * 24})`
}
