import { z } from 'zod'
import { type Address, parseAddress } from './address.ts'
import type { ErrorName } from './errors.ts'
import { MAX_HEADERS, validateHeaders } from './headers.ts'
import { NewAttachments } from './new_attachment.ts'
import { atMost, refuse } from './refuse.ts'
import { parseSchedule } from './schedule.ts'

const MAX_RECIPIENTS = 50
const MAX_SUBJECT_LENGTH = 998
const MAX_TAGS = 50

/** One address that is refused by the given error name. */
function address(name: ErrorName, field: string) {
  return z.string().transform((text, context): Address => {
    return parseAddress(text) ?? refuse(context, name, `Invalid \`${field}\` field. ${expected(text)}`)
  })
}

function expected(text: string): string {
  return `Expected \`email@domain\` or \`Name <email@domain>\`, got ${clip(text)}.`
}

function clip(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}

/** A list of addresses; one string stands for a list of one. */
function addresses(name: ErrorName, field: string) {
  const list = z.preprocess(value => (typeof value === 'string' ? [value] : value), z.array(address(name, field)))
  return atMost(MAX_RECIPIENTS, 'addresses', list)
}

const recipients = (field: string) => addresses('invalid_to_address', field)

const token = z.string().regex(/^[A-Za-z0-9_-]{1,256}$/, 'must be 1 to 256 letters, digits, _ or -')

const headers = z.preprocess(
  (value, context) => {
    // zod leaves a member of this name out without a word.
    const has = typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')
    if (has) context.addIssue({ code: 'custom', message: '"__proto__" is not a header name' })
    return value
  },
  z.record(z.string(), z.string()).superRefine((record, context) => {
    const refused = validateHeaders(record)
    if (refused) context.addIssue({ code: 'custom', message: `${clip(refused.name)} ${refused.reason}` })
  }),
)

const MOMENT =
  'Invalid `scheduled_at` field: expected an ISO 8601 timestamp or a phrase such as "in 2 hours" or "tomorrow at 9am".'

/** A moment; whether it lies ahead, and how far, is for the database's clock to say. */
const ScheduledAt = z
  .string()
  .transform((text, context) => parseSchedule(text, new Date()) ?? refuse(context, 'validation_error', MOMENT))

/** Fields of the contract that this version does not know yet. To ignore them would send something else than asked. */
const notYet = z.null('is not supported yet').optional()

/** The body of POST /emails: its shape only, nothing that depends on rows or time (contract 3.1). */
export const NewEmail = z.object({
  from: address('invalid_from_address', 'from'),
  to: recipients('to').refine(list => list.length > 0, 'at least one recipient'),
  subject: z
    .string()
    .max(MAX_SUBJECT_LENGTH)
    .regex(/^[^\r\n]*$/, 'must be one line'),
  html: z.string().nullish(),
  text: z.string().nullish(),
  cc: recipients('cc').nullish(),
  bcc: recipients('bcc').nullish(),
  reply_to: addresses('validation_error', 'reply_to').nullish(),
  headers: atMost(MAX_HEADERS, 'headers', headers.nullish()),
  tags: atMost(MAX_TAGS, 'tags', z.array(z.object({ name: token, value: token })).nullish()),
  attachments: NewAttachments.nullish(),
  scheduled_at: ScheduledAt.nullish(),
  template_id: notYet,
  template: notYet,
  variables: notYet,
  topic_id: notYet,
  poll: notYet,
})

export type NewEmail = z.output<typeof NewEmail>

/** The body of PATCH /emails/:id (contract 3.5). */
export const Reschedule = z.object({ scheduled_at: ScheduledAt })
