import { z } from 'zod'
import { Subscription } from '#lib/contacts/new_contact.ts'
import { PropertyType, PropertyValue } from '#lib/contacts/new_property.ts'
import { allConditions, type Criteria } from '#lib/segments/conditions.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { SegmentCriteria } from './segment_records.ts'
import { criteriaColumns } from './segments.ts'

const Property = z.object({
  key: z.string(),
  stored_as: z.string(),
  type: PropertyType,
  fallback_value: PropertyValue.nullable(),
})

const Topic = z.object({ id: z.string(), default_subscription: Subscription })

/**
 * The rows that conditions name, in their current state. Missing ones were deleted, or belong to another account or
 * domain.
 */
export type Terms = {
  properties: Map<string, z.infer<typeof Property>>
  topics: Map<string, z.infer<typeof Topic>>
  segments: Map<string, Criteria & { id: string; name: string }>
  campaigns: Set<string>
}

type Place = { account_id: string; domain_id: string }

/** Loads the rows that the conditions of segments refer to, including those to which a segment in a condition refers. */
export async function loadTerms(db: Queryable, place: Place, criteria: Criteria[]): Promise<Terms> {
  const segments = await loadSegments(db, place, namedIn(criteria).segments)
  const named = namedIn([...criteria, ...segments])
  return {
    segments: new Map(segments.map(segment => [segment.id, segment])),
    properties: new Map((await loadProperties(db, place, named.keys)).map(property => [property.key, property])),
    topics: new Map((await loadTopics(db, place, named.topics)).map(topic => [topic.id, topic])),
    campaigns: new Set((await loadCampaigns(db, place, named.campaigns)).map(({ id }) => id)),
  }
}

type Named = { keys: string[]; topics: string[]; segments: string[]; campaigns: string[] }

function namedIn(criteria: Criteria[]): Named {
  const named: Named = { keys: [], topics: [], segments: [], campaigns: [] }
  for (const { condition } of criteria.flatMap(allConditions)) {
    if (condition.field === 'topic') named.topics.push(condition.value)
    if (condition.field === 'segment') named.segments.push(condition.value)
    if (condition.field === 'engagement' && 'campaign_id' in condition.value) {
      named.campaigns.push(condition.value.campaign_id)
    }
    if (condition.field.startsWith('properties.')) named.keys.push(condition.field.slice('properties.'.length))
  }
  return named
}

async function loadProperties(db: Queryable, { account_id }: Place, keys: string[]) {
  if (keys.length === 0) return []
  return db.any(sql.type(Property)`
    SELECT key, stored_as, type, fallback_value FROM contact_properties
    WHERE account_id = ${account_id} AND key = ANY (${sql.array(keys, 'text')}) AND deleted_at IS NULL
  `)
}

async function loadTopics(db: Queryable, { account_id, domain_id }: Place, ids: string[]) {
  if (ids.length === 0) return []
  return db.any(sql.type(Topic)`
    SELECT id, default_subscription FROM topics
    WHERE account_id = ${account_id} AND id = ANY (${sql.array(ids, 'uuid')})
      AND (domain_id IS NULL OR domain_id = ${domain_id})
  `)
}

async function loadSegments(db: Queryable, { account_id, domain_id }: Place, ids: string[]) {
  if (ids.length === 0) return []
  return db.any(sql.type(SegmentCriteria)`
    SELECT ${criteriaColumns} FROM segments s
    WHERE s.account_id = ${account_id} AND s.domain_id = ${domain_id} AND s.id = ANY (${sql.array(ids, 'uuid')})
  `)
}

async function loadCampaigns(db: Queryable, { account_id, domain_id }: Place, ids: string[]) {
  if (ids.length === 0) return []
  return db.any(sql.type(z.object({ id: z.string() }))`
    SELECT id FROM campaigns
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND id = ANY (${sql.array(ids, 'uuid')})
  `)
}
