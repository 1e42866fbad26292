import { ApiError } from '../lib/errors.ts'
import type { Accepted } from '../sql/drafts.ts'

/** How long a pause or a fault lasts nobody knows: often enough to notice its end, seldom enough to be no load. */
const RETRY_SECONDS = 30

type Switch = Extract<
  Accepted['outcome'],
  | 'platform_paused'
  | 'account_paused'
  | 'domain_paused'
  | 'transport_unusable'
  | 'signing_key_unusable'
  | 'reputation_limit_exceeded'
>

/** What is told of a send that a safety switch refuses. `retry_after`: seconds, known of a warm-up only. */
export function switchedOff(outcome: Switch, domain: string, retry_after: number | null): ApiError {
  const headers = { 'retry-after': String(retry_after ?? RETRY_SECONDS) }
  switch (outcome) {
    case 'platform_paused':
      return new ApiError('sending_service_unavailable', 'Sending is paused on this server.', { headers })
    // Without retry-after: a person has to decide.
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
    case 'reputation_limit_exceeded': {
      const message = `The ${domain} domain is new: the emails of this request exceed what it may send today.`
      return new ApiError(outcome, message, { headers })
    }
  }
}
