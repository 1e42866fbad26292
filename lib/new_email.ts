import { z } from 'zod'
import { type Address, parseAddress } from './address.ts'
import type { ErrorName } from './errors.ts'
import { validateHeaders } from './headers.ts'

const MAX_RECIPIENTS = 50
const MAX_SUBJECT_LENGTH = 998
const MAX_TAGS = 50

/** A custom issue that is answered by an error name of its own. */
export function refuse(context: z.RefinementCtx, name: ErrorName, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', message, params: { name } })
  return z.NEVER
}

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
  return z.preprocess(value => (typeof value === 'string' ? [value] : value), z.array(address(name, field)))
}

const recipients = (field: string) =>
  addresses('invalid_to_address', field).refine(
    list => list.length <= MAX_RECIPIENTS,
    `at most ${MAX_RECIPIENTS} recipients`,
  )

const token = z.string().regex(/^[A-Za-z0-9_-]{1,256}$/, 'must be 1 to 256 letters, digits, _ or -')

const headers = z.record(z.string(), z.string()).superRefine((record, context) => {
  const refused = validateHeaders(record)
  if (refused) context.addIssue({ code: 'custom', message: `${clip(refused.name)} ${refused.reason}` })
})

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
  headers: headers.nullish(),
  tags: z
    .array(z.object({ name: token, value: token }))
    .max(MAX_TAGS)
    .nullish(),
  attachments: z.union([notYet, z.array(z.never()).length(0)], 'is not supported yet'),
  scheduled_at: notYet,
  template_id: notYet,
  template: notYet,
  variables: notYet,
  topic_id: notYet,
  poll: notYet,
})

export type NewEmail = z.output<typeof NewEmail>
