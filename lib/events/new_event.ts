import { z } from 'zod'
import { ContactAddress } from '#lib/contacts/new_contact.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { record, refuseMissing } from '#lib/zod_fields.ts'
import { EVENT_NAME, EventName } from './new_definition.ts'

/** In bytes of JSON. */
const MAX_PAYLOAD = 64 * 1024

/** Values of an event by key. */
export const Payload = record(z.unknown()).refine(
  payload => Buffer.byteLength(JSON.stringify(payload)) <= MAX_PAYLOAD,
  `must be at most ${MAX_PAYLOAD / 1024} KB of JSON`,
)
const alias = (of: string) => `The same as \`${of}\`.`
const name = EventName.nullish()
const payload = Payload.nullish()

/** The contact of an event: by its id, which must be of the domain, or by its address. */
export type ContactOfEvent = { contact_id: string } | { email: string }

const Members = z.object({
  event: name.describe(`Name of the event. ${EVENT_NAME} Required.`),
  name: name.describe(alias('event')),
  event_name: name.describe(alias('event')),
  domain: z.string().nullish().describe('Name or id of the domain of the contact. Default: that of the API key.'),
  contact_id: z.guid().toLowerCase().nullish().describe('Id of the contact. Either this or `email` is required.'),
  email: ContactAddress.nullish().describe('Address of the contact, which is created if the domain has none.'),
  payload: payload.describe('Values that automations can use: up to 64 KB of JSON.'),
  data: payload.describe(alias('payload')),
  properties: payload.describe(alias('payload')),
})
type Members = z.output<typeof Members>

/** The body of POST /events/send, and of POST /events if it names a contact. */
export const NewEvent = withTwins(Members)
  .transform((given, context) => {
    const name = readName(given, context)
    const who = readContact(given, context)
    const payload = readPayload(given, context)
    return { name: name as string, who: who as ContactOfEvent, payload: payload ?? {}, domain: given.domain }
  })
  .meta({ id: 'NewEvent' })
export type NewEvent = z.output<typeof NewEvent>

function readName({ event, name, event_name }: Members, context: z.RefinementCtx): string | null {
  const [first, ...others] = given({ event, name, event_name })
  if (!first) context.addIssue({ code: 'invalid_type', expected: 'string', path: ['event'], input: undefined })
  const other = others.find(([, value]) => value !== first?.[1])
  if (other) refuseMember(context, other[0], `must be the same as \`${first?.[0]}\``)
  return first?.[1] ?? null
}

/** Returns the given one of both members; adds an issue if neither or both are given. */
export function readContact(
  { contact_id, email }: Pick<Members, 'contact_id' | 'email'>,
  context: z.RefinementCtx,
): ContactOfEvent | null {
  if (contact_id && email) refuseMember(context, 'email', 'cannot be combined with `contact_id`')
  if (contact_id) return { contact_id }
  if (email) return { email }
  refuseMissing(context, ['contact_id', 'email'])
  return null
}

function readPayload({ payload, data, properties }: Members, context: z.RefinementCtx) {
  const [first, other] = given({ payload, data, properties })
  if (first && other) refuseMember(context, other[0], `cannot be combined with \`${first[0]}\``)
  return first?.[1] ?? null
}

function refuseMember(context: z.RefinementCtx, name: string, message: string): void {
  context.addIssue({ code: 'custom', path: [name], message })
}

/** Returns the members that have a value. */
function given<Value>(members: Record<string, Value | null | undefined>): [string, Value][] {
  return Object.entries(members).filter((member): member is [string, Value] => (member[1] ?? null) !== null)
}
