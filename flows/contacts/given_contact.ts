import type { NewContact } from '#lib/contacts/new_contact.ts'
import type { GivenContact } from '#sql/contacts/contact_changes.ts'

/** Fields of a contact in a request; undefined leaves a field as it is. */
export type ContactFields = Pick<
  NewContact,
  'first_name' | 'last_name' | 'unsubscribed' | 'do_not_track' | 'timezone' | 'properties'
>

/** Returns a contact in the form that SQL takes. `properties`: by `stored_as`. */
export function toGivenContact(
  id: string,
  { email, first_name, last_name, unsubscribed, do_not_track, timezone }: ContactFields & { email: string },
  properties: GivenContact['properties'],
): GivenContact {
  return {
    ...{ id, email, unsubscribed: unsubscribed ?? null, do_not_track: do_not_track ?? null, properties },
    ...{ first_name: cleared(first_name), last_name: cleared(last_name), timezone: cleared(timezone) },
  }
}

/** Undefined leaves a text as it is, null and the empty string clear it. */
function cleared(text: string | null | undefined): string | null {
  return text === undefined ? null : (text ?? '')
}
