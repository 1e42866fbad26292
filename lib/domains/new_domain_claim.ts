import type { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { DomainFields } from './new_domain.ts'

/** The body of a claim to a domain that another account has verified. */
export const NewDomainClaim = withTwins(
  DomainFields.pick({
    name: true,
    region: true,
    custom_return_path: true,
    open_tracking: true,
    click_tracking: true,
    tracking_subdomain: true,
  }),
).meta({ id: 'NewDomainClaim' })
export type NewDomainClaim = z.infer<typeof NewDomainClaim>

/** Prefix of a claim's record, before its token. */
export const CLAIM_PREFIX = 'mb-domain-verification='
