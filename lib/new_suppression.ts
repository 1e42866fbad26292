import { z } from 'zod'
import { asciiDomain, parseAddress } from './address.ts'
import { now } from './clock.ts'
import { withTwins } from './twins.ts'

const Address = z.string().transform((text, context) => {
  const address = parseAddress(text)
  if (address && address.name === null) return address
  context.addIssue('must be an address such as ann@acme.com')
  return z.NEVER
})

const Reason = z.enum(['bounce', 'complaint', 'manual', 'import'])

/** An address that is to get no more mail (contract 17). Without `expires_at` for good. */
export const NewSuppression = withTwins(
  z.object({
    email: Address,
    reason: Reason.default('manual'),
    expires_at: z.iso
      .datetime({ offset: true, error: 'must be a time such as 2027-01-31T12:00:00Z' })
      .refine(text => new Date(text) > now(), 'lies in the past')
      .nullish()
      .transform(text => (text ? new Date(text).toISOString() : null)),
  }),
)
export type NewSuppression = z.infer<typeof NewSuppression>

/** What is no address or domain is looked for as it is, and not found. */
const line = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,320}$/u, 'must be one line of at most 320 characters')

export const SuppressionQuery = z.object({
  email: line.transform(text => parseAddress(text)?.address ?? text).optional(),
  domain: line.transform(text => asciiDomain(text) ?? text).optional(),
  reason: Reason.optional(),
})
