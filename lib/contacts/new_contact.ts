import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { isTimeZone, NOT_A_ZONE } from '#lib/time_zones.ts'
import { counted, Fixed, NAME_LINE, record } from '#lib/zod_fields.ts'
import { PropertyValue } from './new_property.ts'

/** In characters. */
const MAX_NAME = 255
const MAX_PROPERTIES = 1_000
const MAX_SEGMENTS = 100
const MAX_TOPICS = 100

/** An address without a name, in lower case, which identifies a contact on its domain. */
export const ContactAddress = z.string().transform((text, context): string => {
  const address = parseAddress(text)
  if (address && address.name === null) return address.address.toLowerCase()
  context.addIssue('must be an address such as ann@acme.com')
  return z.NEVER
})

/** Null and the empty string clear it. */
const Name = z.string().max(MAX_NAME).regex(NAME_LINE, 'must be one line').nullish()

/** Null and the empty string clear it. */
const Zone = z
  .string()
  .refine(name => name === '' || isTimeZone(name), NOT_A_ZONE)
  .nullish()

/** Values by key; null removes one. Keys and types are checked later against the properties of the account. */
const Properties = counted(0, MAX_PROPERTIES, 'properties', record(PropertyValue.nullable()).nullish())

/** Members of a contact, except its address. */
export const contactFields = {
  first_name: Name.describe('One line of up to 255 characters. Null clears it.'),
  last_name: Name.describe('One line of up to 255 characters. Null clears it.'),
  unsubscribed: z
    .boolean()
    .nullish()
    .describe('`true`: the contact gets no campaigns. Only an explicit `false` undoes an opt-out.'),
  do_not_track: z
    .boolean()
    .nullish()
    .describe(
      '`true`: opens and clicks of mail to it are never tracked, even if the email or its domain enables tracking.',
    ),
  timezone: Zone.describe('IANA time zone such as `Europe/Berlin`, for campaigns in local time. Null clears it.'),
  properties: Properties.describe('Values by the keys of contact properties. A value of null removes it.'),
}
const SegmentRef = z.union(
  [z.guid().toLowerCase(), z.object({ id: z.guid().toLowerCase() }).transform(({ id }) => id)],
  'must be the id of a segment',
)

export const Subscription = z.enum(['opt_in', 'opt_out'])
export type Subscription = z.infer<typeof Subscription>

export const TopicChoice = z.object({
  id: z.guid().toLowerCase().describe('Id of the topic.'),
  subscription: Subscription.describe('Choice of the contact.'),
})
export type TopicChoice = z.infer<typeof TopicChoice>
export const TopicChoices = counted(0, MAX_TOPICS, 'topics', z.array(TopicChoice))

/** Segments that a contact is added to, and its choices about topics. */
export const groupFields = {
  segments: counted(0, MAX_SEGMENTS, 'segments', z.array(SegmentRef).nullish()).describe(
    'Up to 100 segments to add it to: ids, or objects with an `id`.',
  ),
  topics: TopicChoices.nullish().describe('Up to 100 choices about topics.'),
}

export const ContactEmail = ContactAddress.describe(
  'The address, without a name. Unique among the contacts of the domain.',
)

/** Descriptions of `domain`: for bodies, where it has a default, and for requests whose path has the contact's id or address. */
export const IMPLIED_DOMAIN = 'Name or id of the domain. Default: that of the API key, or the only one of the account.'
export const ADDRESS_DOMAIN = 'Name or id of the domain, if the path has an address. Default: that of the API key.'

/** Fields that name or imply the domain to which a contact is added. */
export const placeFields = {
  domain: z.string().nullish().describe(IMPLIED_DOMAIN),
  audience_id: z.guid().toLowerCase().nullish().describe('Id of an audience to join. It implies the domain.'),
}

/** The body of POST /audiences/:audience_id/contacts. */
export const NewAudienceContact = withTwins(z.object({ email: ContactEmail, ...contactFields, ...groupFields })).meta({
  id: 'NewAudienceContact',
})

/** The body of POST /contacts. The domain is named or implied. */
export const NewContact = withTwins(
  z.object({
    email: ContactEmail,
    ...contactFields,
    ...groupFields,
    ...placeFields,
  }),
).meta({ id: 'NewContact' })
export type NewContact = z.output<typeof NewContact>

/** The body of PATCH /contacts/:id. */
export const ContactChange = withTwins(
  z.object({ email: Fixed, ...contactFields, domain: z.string().nullish().describe(ADDRESS_DOMAIN) }),
).meta({ id: 'ContactChange' })
export type ContactChange = z.output<typeof ContactChange>
