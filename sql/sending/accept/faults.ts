import { z } from 'zod'
import { DomainStatus } from '#lib/domains/domain_status.ts'

/** Faults that do not concern the email itself: they refuse the whole request. */
export const RequestFault = z.enum([
  'wrong_clock',
  'platform_paused',
  'account_paused',
  'domain_paused',
  'transport_unusable',
  'signing_key_unusable',
  'daily_quota_exceeded',
  'monthly_quota_exceeded',
  'reputation_limit_exceeded',
])
export type RequestFault = z.infer<typeof RequestFault>

/** Reasons why a draft is not stored. */
export const Fault = z.enum([
  'schedule_past',
  'schedule_too_far',
  'refused',
  'domain_not_verified',
  'domain_not_allowed',
  'topic_unknown',
  'all_suppressed',
  ...RequestFault.options,
])
export type Fault = z.infer<typeof Fault>

/**
 * Details of a fault (sql/sending/accept/explain_faults.sql); the members depend on the fault. Times are in seconds.
 */
export const FaultDetail = z
  .object({
    status: DomainStatus,
    sending: z.boolean(),
    by: z.string().nullable(),
    reason: z.string().nullable(),
    limit: z.int(),
    left: z.int(),
    credits: z.int(),
    needed: z.int(),
    retry_after: z.int().nullable(),
  })
  .partial()
export type FaultDetail = z.infer<typeof FaultDetail>

/** Returns true if the same email may be accepted later. The domain of an account may send again; an unknown one never will. */
export function mayPass(fault: string, detail: FaultDetail | null): boolean {
  return RequestFault.safeParse(fault).success || (fault === 'domain_not_verified' && detail?.status !== undefined)
}
