import { z } from 'zod'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import type { Criteria, Rules } from '#lib/segments/conditions.ts'

const PropertyFilter = z
  .object({
    key: z.string().describe('Key of a contact property.'),
    operator: z.enum(['eq', 'contains', 'exists']).describe('Comparison with the value.'),
    value: PropertyValue.optional().describe('Value to compare with. `exists` has none.'),
  })
  .meta({ id: 'PropertyFilter' })

const EngagementFilter = z
  .object({
    event: z.enum(['clicked', 'not_clicked', 'opened', 'not_opened']).describe('What a contact did.'),
    campaign_id: z.string().describe('Id of the campaign. One that was deleted finds nobody.'),
  })
  .meta({ id: 'EngagementFilter' })

const Filter = z
  .object({
    status: z
      .enum(['all', 'subscribed', 'unsubscribed', 'members_only'])
      .describe('`members_only`: only contacts that were added by hand.'),
    email_contains: z.string().nullable().describe('Part of the address, ignoring case.'),
    property_filters: z.array(PropertyFilter).describe('Conditions on properties, all of which must be met.'),
    engagement: EngagementFilter.nullable().describe('What a contact did with a campaign.'),
  })
  .meta({ id: 'SegmentFilter' })

/** Rules are stored in their checked form (lib/segments/read_rules.ts). */
const StoredRules = z.custom<Rules>(value => typeof value === 'object' && value !== null).meta({ type: 'object' })

const listed = {
  object: z.literal('segment'),
  id: z.string(),
  audience_id: z.string().describe('Id of the default audience of its domain.'),
  name: z.string().describe('Name.'),
  filter: Filter.describe('Conditions that a contact must all meet.'),
  rules: StoredRules.nullable().describe('More conditions, as they were given.'),
  created_at: z.date(),
  updated_at: z.date(),
}

/** A segment as GET /segments shows it. */
export const ListedSegment = z.object(listed).meta({ id: 'ListedSegment' })
export type ListedSegment = z.infer<typeof ListedSegment>

/** A segment as GET /segments/:id shows it. */
export const Segment = z
  .object({
    ...listed,
    contacts_count: z
      .int()
      .nullable()
      .describe('Number of its contacts at `counted_at`. Null before they were counted.'),
    counted_at: z.date().nullable().describe('Time at which they were counted.'),
  })
  .meta({ id: 'Segment' })
export type Segment = z.infer<typeof Segment>

/** The conditions of a segment, without its members by hand. */
export const SegmentCriteria = z.object({
  id: z.string(),
  name: z.string(),
  filter: z.custom<Criteria['filter']>(),
  rules: z.custom<Rules>().nullable(),
})
export type SegmentCriteria = z.infer<typeof SegmentCriteria>
