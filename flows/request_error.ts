import { ApiError } from '../lib/errors.ts'
import type { RequestFault } from '../sql/drafts.ts'

/** How long a pause or a fault lasts nobody knows: often enough to notice its end, seldom enough to be no load. */
const RETRY_SECONDS = 30

/** What is told of a request that quotas or safety switches refuse. `retry_after`: seconds, known of a warm-up only. */
export function requestError(fault: RequestFault, domain: string, retry_after: number | null): ApiError {
  const headers = { 'retry-after': String(retry_after ?? RETRY_SECONDS) }
  switch (fault) {
    case 'wrong_clock':
      return new ApiError('sending_service_unavailable', 'The clock of this server is being set. Retry in a moment.', {
        headers: { 'retry-after': '10' },
      })
    case 'platform_paused':
      return new ApiError('sending_service_unavailable', 'Sending is paused on this server.', { headers })
    // Without retry-after, since a person has to decide.
    case 'account_paused':
      return new ApiError('reputation_paused', 'Sending is paused for this account.')
    case 'domain_paused':
      return new ApiError('reputation_paused', `Sending is paused for the ${domain} domain.`)
    case 'transport_unusable': {
      const message = 'The configuration of this server does not let it send at the moment.'
      return new ApiError('sending_configuration_unavailable', message, { headers })
    }
    case 'signing_key_unusable': {
      const message = `The signing key of the ${domain} domain cannot be used at the moment.`
      return new ApiError('sending_configuration_unavailable', message, { headers })
    }
    case 'daily_quota_exceeded':
      return new ApiError(fault, 'The emails of this request exceed what your plan allows in 24 hours.')
    case 'monthly_quota_exceeded':
      return new ApiError(fault, 'The emails of this request exceed what your plan allows in 30 days.')
    case 'reputation_limit_exceeded': {
      const message = `The ${domain} domain is new: the emails of this request exceed what it may send today.`
      return new ApiError(fault, message, { headers })
    }
  }
}
