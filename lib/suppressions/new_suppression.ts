import { z } from 'zod'
import { now } from '#lib/clock.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { asciiDomain, parseAddress } from '#lib/mail/address.ts'
import { counted, requireOne, timestampField } from '#lib/zod_fields.ts'

const Address = z.string().transform((text, context) => {
  const address = parseAddress(text)
  if (address && address.name === null) return address
  context.addIssue('must be an address such as ann@acme.com')
  return z.NEVER
})

const Reason = z.enum(['bounce', 'complaint', 'manual', 'import'])

const ExpiresAt = timestampField('must be an ISO 8601 timestamp with an offset, such as 2027-01-31T12:00:00Z')
  .refine(at => at > now(), 'must be in the future')
  .nullish()
  .transform(at => at?.toISOString() ?? null)

/** An address that must get no more mail; forever without `expires_at`. */
export const NewSuppression = withTwins(
  z.object({
    email: Address.describe('The address, without a name.'),
    reason: Reason.default('manual').describe('Why it is suppressed.'),
    expires_at: ExpiresAt.describe('When the suppression ends: an ISO 8601 timestamp with an offset. Default: never.'),
  }),
).meta({ id: 'NewSuppression' })
export type NewSuppression = z.infer<typeof NewSuppression>

/** In characters. */
const MAX_CSV = 5_000_000

/** The body of POST /suppressions/import. */
export const SuppressionFile = z
  .object({ csv: z.string().max(MAX_CSV).describe('The text of the file.') })
  .meta({ id: 'SuppressionFile' })

/** A record of such a file. */
export const SuppressionRow = z.object({ email: Address, reason: Reason.default('import'), expires_at: ExpiresAt })

/** Maximum number of entries in each list of a batch. */
const MAX_BATCH = 1_000

function batch<Schema extends z.ZodType>(schema: Schema) {
  return counted(1, MAX_BATCH, 'items', z.array(schema))
}

/** The body of POST /suppressions/batch/add. */
export const AddedAddresses = z
  .object({ emails: batch(Address).describe('1 to 1,000 addresses, without names.') })
  .meta({ id: 'NewSuppressions' })

/** The body of POST /suppressions/batch/remove: either addresses or ids. */
export const RemovedSuppressions = z
  .object({
    emails: batch(Address).optional().describe('1 to 1,000 addresses. Give either `emails` or `ids`.'),
    ids: batch(z.guid().toLowerCase()).optional().describe('1 to 1,000 ids of suppressions.'),
  })
  .superRefine(requireOne('emails', 'ids'))
  .meta({ id: 'RemovedSuppressions' })

/** An invalid address or domain is searched for as it is, and not found. */
const line = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,320}$/u, 'must be one line of at most 320 characters')

export const SuppressionQuery = z.object({
  email: line
    .transform(text => parseAddress(text)?.address ?? text)
    .optional()
    .describe('Only this address, ignoring case.'),
  domain: line
    .transform(text => asciiDomain(text) ?? text)
    .optional()
    .describe('Only addresses at this domain.'),
  reason: Reason.optional().describe('Only suppressions with this reason.'),
  origin: z.enum(['bounce', 'complaint', 'manual']).optional().describe('Only suppressions of this origin.'),
})
