import { isSendable } from '#lib/domains/domain_status.ts'
import { ApiError } from '#lib/errors.ts'
import type { Draft, Fault, FaultDetail } from '#sql/sending/accept/drafts.ts'
import { scheduleError } from './change_schedule.ts'
import { requestError } from './request_errors.ts'

/** Returns the error for the caller of a draft that is not stored. */
export function faultError(fault: Fault, draft: Draft, detail: FaultDetail): ApiError {
  switch (fault) {
    case 'schedule_past':
    case 'schedule_too_far':
      return scheduleError(fault)
    case 'refused':
      return draft.refusal as ApiError
    case 'domain_not_verified':
      return new ApiError('validation_error', `The ${draft.domain} domain ${whyNotDomain(detail)}`)
    case 'domain_not_allowed':
      return new ApiError('validation_error', `This API key may not send from the ${draft.domain} domain.`)
    case 'all_suppressed':
      return new ApiError('validation_error', 'All `to` recipients are suppressed.')
    default:
      return requestError(fault, draft.domain, detail)
  }
}

/** Another account's domain is as unknown as any. */
function whyNotDomain({ status, sending }: FaultDetail): string {
  if (status === undefined) return 'is not verified: it is not one of your domains. Add it, then verify it.'
  if (isSendable(status) && sending === false) return 'may not send: its `capabilities.sending` is `disabled`.'
  return `is not verified: its status is \`${status}\`. Publish its DNS records, then verify it.`
}
