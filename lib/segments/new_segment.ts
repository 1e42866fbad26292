import { z } from 'zod'
import { GroupName } from '#lib/contacts/new_audience.ts'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { isObject } from '#lib/json/is_object.ts'
import { counted, Fixed } from '#lib/zod_fields.ts'
import { MAX_CONDITIONS } from './conditions.ts'
import { RulesField } from './read_rules.ts'

/** In characters; an address has at most 254. */
const MAX_EMAIL_PART = 254

/**
 * An object whose members are all required, and whose errors are about the filter: a missing member is reported as a wrong type,
 * not as a missing field of the body.
 */
function whole<Schema extends z.ZodType>(names: string[], schema: Schema) {
  const nothing = Object.fromEntries(names.map(name => [name, null]))
  return z.preprocess(value => (isObject(value) ? { ...nothing, ...value } : value), schema)
}

const PropertyFilter = whole(
  ['key', 'operator'],
  z
    .object({
      key: z.string().describe('Key of a contact property.'),
      operator: z
        .enum(['eq', 'contains', 'exists'])
        .describe('`exists` looks only at own values, the others also at fallback values. `contains` is for strings.'),
      value: PropertyValue.optional().describe('Value to compare with. `exists` takes none.'),
    })
    .superRefine(({ operator, value }, context) => {
      const message = messageOf(operator, value)
      if (message) context.addIssue({ code: 'custom', path: ['value'], message })
    })
    .meta({ id: 'NewPropertyFilter' }),
)

function messageOf(operator: string, value: PropertyValue | undefined): string | null {
  if (operator === 'exists') return value === undefined ? null : 'must be left out: `exists` takes none'
  if (value === undefined) return 'must be given'
  if (operator === 'contains' && (typeof value !== 'string' || value === ''))
    return 'must be a string that is not empty'
  return null
}

const CampaignEngagement = withTwins(
  z.object({
    event: z
      .enum(['clicked', 'not_clicked', 'opened', 'not_opened'])
      .describe('`not_clicked` and `not_opened` find only contacts that were sent the campaign.'),
    campaign_id: z.guid().toLowerCase().describe('Id of a campaign of the domain.'),
  }),
).meta({ id: 'NewEngagementFilter' })
const Engagement = z.preprocess(value => {
  if (!isObject(value)) return value
  const { event = null, campaign_id, campaignId, ...rest } = value
  return {
    ...rest,
    event,
    ...(campaignId === undefined ? { campaign_id: campaign_id ?? null } : { campaign_id, campaignId }),
  }
}, CampaignEngagement)

/** Null and the empty string match every address. */
const EmailPart = z
  .string()
  .max(MAX_EMAIL_PART)
  .nullable()
  .transform(part => part || null)

const Elsewhere = z
  .undefined({ error: 'must be beside `filter`, not in it' })
  .optional()
  .meta({ not: {}, description: 'Not allowed here: `rules` is a field beside `filter`, not in it.' })

/** Members of a segment's filter. Those that a change leaves out stay as they are. */
const FilterChange = withTwins(
  z.object({
    status: z
      .enum(['all', 'subscribed', 'unsubscribed', 'members_only'])
      .optional()
      .describe('Default: `all`. `members_only`: only contacts that were added by hand.'),
    email_contains: EmailPart.optional().describe('Part of the address, ignoring case. Null: any address.'),
    property_filters: counted(0, MAX_CONDITIONS, 'filters', z.array(PropertyFilter))
      .optional()
      .describe('Conditions on properties, all of which must be met.'),
    engagement: Engagement.nullable().optional().describe('What a contact did with a campaign. Null: anything.'),
    rules: Elsewhere,
  }),
).meta({ id: 'NewSegmentFilter' })
export type FilterChange = z.output<typeof FilterChange>

const RULES =
  'Conditions that a contact must meet beside those of `filter`: `{field, operator, value}`, or `{and: [...]}`, `{or: [...]}` or ' +
  '`{not: ...}` of such. Each of these is a level, and the condition in it another: up to 5. Up to 50 conditions with those of ' +
  '`filter`, of which each of `engagement` or with `contains` counts as three.'
const criteria = {
  filter: FilterChange.nullish().describe('Conditions, all of which a contact must meet. Null: none.'),
  rules: RulesField.nullish().describe(RULES),
}

/** Not accepted, since the domain takes its place. */
const NoAudience = z
  .undefined({ error: 'is not accepted: name the `domain`' })
  .optional()
  .meta({ not: {}, description: 'Not accepted: name the `domain`.' })

const NAME = 'One line of 1 to 255 characters. Unique among the segments of the domain.'
const DOMAIN = 'Name or id of the domain. Default: that of the API key.'

/** The body of POST /segments. */
export const NewSegment = withTwins(
  z.object({
    name: GroupName.describe(NAME),
    domain: z.string().nullish().describe(DOMAIN),
    audience_id: NoAudience,
    ...criteria,
  }),
).meta({ id: 'NewSegment' })
export type NewSegment = z.output<typeof NewSegment>

/** The body of PATCH /segments/:id. Fields that are left out stay as they are; null removes the `filter` or the `rules`. */
export const SegmentChange = withTwins(
  z.object({ name: GroupName.optional().describe(NAME), domain: Fixed, audience_id: Fixed, ...criteria }),
).meta({ id: 'SegmentChange' })
export type SegmentChange = z.output<typeof SegmentChange>
