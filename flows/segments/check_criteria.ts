import type { PropertyType } from '#lib/contacts/new_property.ts'
import { ApiError } from '#lib/errors.ts'
import { orList } from '#lib/json/requirements.ts'
import {
  allConditions,
  type Condition,
  type Criteria,
  MAX_CONDITIONS,
  type PlacedCondition,
  totalWeight,
} from '#lib/segments/conditions.ts'
import type { Tx } from '#sql/pool.ts'
import { loadTerms, type Terms } from '#sql/segments/terms.ts'
import { findSegmentNaming } from '#sql/segments/usages.ts'

/** Maximum number of segments that rules may name: each adds up to as many conditions again. */
const MAX_SEGMENTS = 5

const OPERATORS: Record<PropertyType, string[]> = {
  string: ['eq', 'contains', 'exists'],
  number: ['eq', 'exists', 'gt', 'gte', 'lt', 'lte'],
}

type Place = { account_id: string; domain_id: string; id: string }

/**
 * Checks that the conditions of a segment name existing things. Unchanged conditions are not checked again, since these
 * things may have been deleted meanwhile. The segments of the account must be locked.
 *
 * @throws {ApiError} 422
 */
export async function checkCriteria(tx: Tx, place: Place, criteria: Criteria, before: Criteria | null): Promise<void> {
  const conditions = allConditions(criteria)
  const known = new Set(before ? allConditions(before).map(({ condition }) => textOf(condition)) : [])
  const added = conditions.filter(({ condition }) => !known.has(textOf(condition)))
  if (added.length > 0 && totalWeight(criteria) > MAX_CONDITIONS) {
    const most = `at most ${MAX_CONDITIONS} conditions, with those of \`filter\``
    throw invalid('rules', `must have ${most}, and each of \`engagement\` or with \`contains\` counts as three`)
  }
  const terms = await loadTerms(tx, place, [criteria])
  for (const one of added) checkCondition(one, terms, place.id)
  await checkDepth(tx, place, conditions)
}

/** Stored conditions have their members in the order of jsonb. */
function textOf(condition: Condition): string {
  return JSON.stringify([condition.field, condition.operator, 'value' in condition ? condition.value : null])
}

/** Checks that a segment that names others is not named itself, so that references never form a circle. */
async function checkDepth(tx: Tx, { account_id, id }: Place, conditions: PlacedCondition[]): Promise<void> {
  const named = conditions.filter(({ condition }) => condition.field === 'segment')
  if (named.length === 0) return
  if (named.length > MAX_SEGMENTS) throw invalid('rules', `must name at most ${MAX_SEGMENTS} segments`)
  const name = await findSegmentNaming(tx, account_id, id)
  if (name !== null) throw invalid('rules', `must name no segment: the segment ${JSON.stringify(name)} names this one`)
}

function checkCondition({ condition, place }: PlacedCondition, terms: Terms, own_id: string): void {
  if (condition.field === 'topic' && !terms.topics.has(condition.value)) {
    throw invalid(`${place}.value`, 'must be the id of a topic of the domain')
  }
  if (condition.field === 'segment') checkSegment(condition.value, place, terms, own_id)
  if (condition.field === 'engagement' && 'campaign_id' in condition.value) {
    if (terms.campaigns.has(condition.value.campaign_id)) return
    const parent = place.startsWith('filter') ? place : `${place}.value`
    throw invalid(`${parent}.campaign_id`, 'must be the id of a campaign of the domain')
  }
  if (condition.field.startsWith('properties.')) checkProperty(condition, place, terms)
}

function checkSegment(id: string, place: string, terms: Terms, own_id: string): void {
  const segment = terms.segments.get(id)
  if (!segment || id === own_id) throw invalid(`${place}.value`, 'must be the id of another segment of the domain')
  if (allConditions(segment).some(({ condition }) => condition.field === 'segment')) {
    throw invalid(`${place}.value`, 'must be the id of a segment whose rules name no segment')
  }
}

function checkProperty(condition: Condition, place: string, terms: Terms): void {
  const key = condition.field.slice('properties.'.length)
  const property = terms.properties.get(key)
  if (!property) {
    const member = place.startsWith('filter') ? 'key' : 'field'
    throw invalid(`${place}.${member}`, `names ${JSON.stringify(key.slice(0, 100))}, which is not a contact property`)
  }
  const operators = OPERATORS[property.type]
  if (!operators.includes(condition.operator)) {
    const possible = place.startsWith('filter') ? operators.filter(name => OPERATORS.string.includes(name)) : operators
    throw invalid(`${place}.operator`, `must be ${orList(possible)}: the property is a ${property.type}`)
  }
  if ('value' in condition && typeof condition.value !== property.type) {
    throw invalid(`${place}.value`, `must be a ${property.type}`)
  }
}

function invalid(field: string, requirement: string): ApiError {
  return new ApiError('validation_error', `\`${field}\` ${requirement}.`)
}
