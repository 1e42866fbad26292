import type { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { DomainFields } from './new_domain.ts'

/** A name to claim that another account has verified (contract 5.2). */
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

/** What a claim's record begins with; its token follows. */
export const CLAIM_PREFIX = 'mb-domain-verification='
