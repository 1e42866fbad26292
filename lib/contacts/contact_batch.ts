import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { counted } from '#lib/zod_fields.ts'
import { ContactEmail, contactFields, groupFields, placeFields } from './new_contact.ts'

const MAX_CONTACTS = 10_000

/** How to treat contacts that exist already: change the given members, or leave them as they are. */
export const OnConflict = z.enum(['upsert', 'skip'])
export type OnConflict = z.infer<typeof OnConflict>

/** One contact of a batch. */
export const BatchContact = withTwins(z.object({ email: ContactEmail, ...contactFields })).meta({ id: 'BatchContact' })
export type BatchContact = z.output<typeof BatchContact>

/** Descriptions of fields that a batch and an import have in common. */
export const ON_CONFLICT = '`upsert` changes contacts that exist already, `skip` leaves them as they are.'
export const RESUBSCRIBE = 'True if `unsubscribed: false` undoes an opt-out.'
export const TRIGGER_AUTOMATIONS =
  'True if contacts that are new or have unsubscribed start automations, as `contact.created` and `contact.unsubscribed`.'

const members = {
  on_conflict: OnConflict.default('upsert').describe(ON_CONFLICT),
  resubscribe: z.boolean().default(false).describe(RESUBSCRIBE),
  trigger_automations: z.boolean().default(false).describe(TRIGGER_AUTOMATIONS),
  ...groupFields,
}
const ofContacts = <Item extends z.ZodType>(item: Item) =>
  counted(1, MAX_CONTACTS, 'contacts', z.array(item)).describe('1 to 10,000 contacts.')

/** The body of POST /audiences/:audience_id/contacts/batch. */
export const AudienceContactBatch = withTwins(z.object({ contacts: ofContacts(BatchContact), ...members })).meta({
  id: 'AudienceContactBatch',
})

/** The body of POST /contacts/batch. The domain is named or implied. */
export const ContactBatch = withTwins(
  z.object({ contacts: ofContacts(BatchContact), ...members, ...placeFields }),
).meta({ id: 'ContactBatch' })

/** A batch whose contacts are checked later, one by one, so that invalid ones can be skipped. */
export const UncheckedBatch = withTwins(z.object({ contacts: ofContacts(z.unknown()), ...members, ...placeFields }))
export type UncheckedBatch = z.output<typeof UncheckedBatch>
