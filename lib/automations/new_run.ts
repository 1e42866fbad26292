import { z } from 'zod'
import { ContactAddress } from '#lib/contacts/new_contact.ts'
import { type ContactOfEvent, Payload, readContact } from '#lib/events/new_event.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'

/** The body of POST /automations/:id/run. */
export const NewRun = withTwins(
  z.object({
    contact_id: z.guid().toLowerCase().nullish().describe('Id of a contact of the domain of the automation.'),
    email: ContactAddress.nullish().describe('Address of the contact, in place of `contact_id`.'),
    payload: Payload.nullish().describe('Values of the event that it stands for: up to 64 KB of JSON.'),
  }),
)
  .transform((given, context) => {
    const who = readContact(given, context)
    return { who: who as ContactOfEvent, payload: given.payload ?? {} }
  })
  .meta({ id: 'NewAutomationRun' })
export type NewRun = z.output<typeof NewRun>
