import { now } from '#lib/clock.ts'
import { isSendable } from '#lib/domains/domain_status.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import type { ScheduleFault } from '#lib/sending/schedule.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import type { FaultDetail, RequestFault } from '#sql/sending/accept/faults.ts'
import type { RefusedEmail } from './accept_emails.ts'

export function keyConflict(): ApiError {
  return new ApiError('invalid_idempotent_request', 'This idempotency key was used with another payload.')
}

export function concurrent(): ApiError {
  const message = 'A request with this idempotency key is still in progress.'
  return new ApiError('concurrent_idempotent_requests', message, { headers: { 'retry-after': '1' } })
}

export function unavailable(cause: unknown): ApiError {
  const message = 'The request could not be stored in time. Retry it: with an idempotency key, nothing is sent twice.'
  return new ApiError('sending_service_unavailable', message, { headers: { 'retry-after': '5' }, cause })
}

export function scheduleError(fault: ScheduleFault): ApiError {
  const message = {
    schedule_past: '`scheduled_at` must be in the future.',
    schedule_too_far: '`scheduled_at` must be within the next 30 days.',
  }[fault]
  return new ApiError('validation_error', message)
}

const ALL_SUPPRESSED = 'All `to` recipients are suppressed.'
const NOBODY_SUBSCRIBED = 'All `to` recipients are suppressed or not subscribed to the topic.'

/** Returns the error for the caller of a draft that is not stored. */
export function faultError({ fault, detail }: RefusedEmail, draft: Draft): ApiError {
  switch (fault) {
    case 'key_conflict':
      return keyConflict()
    case 'schedule_past':
    case 'schedule_too_far':
      return scheduleError(fault)
    case 'refused':
      return draft.refusal as ApiError
    case 'domain_not_verified':
      return new ApiError('validation_error', `The ${draft.domain} domain ${whyDomainMayNotSend(detail)}`)
    case 'domain_not_allowed':
      return new ApiError('validation_error', `This API key may not send from the ${draft.domain} domain.`)
    case 'topic_unknown':
      return notFound('Topic')
    case 'all_suppressed':
      return new ApiError('validation_error', whyNobodyGetsIt(draft))
    default:
      return requestError(fault, draft.domain, detail)
  }
}

/** Explains reserved domains, which newcomers try first and which are on no list of suppressions. */
function whyNobodyGetsIt({ topic_id, recipients }: Draft): string {
  const message = topic_id === null ? ALL_SUPPRESSED : NOBODY_SUBSCRIBED
  const reserved = recipients.find(({ visible_in, reserved }) => visible_in === 'to' && reserved)
  return reserved ? `${message} The domain ${reserved.destination} is reserved for documentation and tests.` : message
}

/** Returns why a domain may not send. A domain of another account is reported like an unknown one. */
function whyDomainMayNotSend({ status, sending }: FaultDetail): string {
  if (status === undefined) return 'is not verified: it is not one of your domains. Add it, then verify it.'
  if (isSendable(status) && sending === false) return 'may not send: its `capabilities.sending` is `disabled`.'
  return `is not verified: its status is \`${status}\`. Publish its DNS records, then verify it.`
}

/**
 * Retry interval if the duration of a pause or a fault is unknown: short enough to notice its end, long enough to cause
 * no load.
 */
const RETRY_SECONDS = 30

/** Returns the error for a request that quotas or safety switches refuse. */
function requestError(fault: RequestFault, domain: string, detail: FaultDetail): ApiError {
  const headers = { 'retry-after': String(detail.retry_after ?? RETRY_SECONDS) }
  switch (fault) {
    case 'wrong_clock':
      return new ApiError('sending_service_unavailable', 'The clock of this server is being set. Retry in a moment.', {
        headers: { 'retry-after': '10' },
      })
    case 'platform_paused':
      return new ApiError(
        'sending_service_unavailable',
        `${paused('on this server', { reason: detail.reason })} Retry later.`,
        {
          headers,
        },
      )
    // No retry-after, since a person has to decide.
    case 'account_paused':
      return new ApiError('reputation_paused', `${paused('for this account', detail)} ${remedy(detail)}`)
    case 'domain_paused':
      return new ApiError('reputation_paused', `${paused(`for the ${domain} domain`, detail)} ${remedy(detail)}`)
    case 'transport_unusable': {
      const message = 'The configuration of this server does not let it send at the moment.'
      return new ApiError('sending_configuration_unavailable', message, { headers })
    }
    case 'signing_key_unusable': {
      const message = `The signing key of the ${domain} domain cannot be used at the moment.`
      return new ApiError('sending_configuration_unavailable', message, { headers })
    }
    case 'daily_quota_exceeded':
    case 'monthly_quota_exceeded':
      return quotaError(fault, detail)
    case 'reputation_limit_exceeded': {
      const message = `The ${domain} domain is new: the emails of this request exceed what it may send today.`
      return new ApiError(fault, message, { headers })
    }
  }
}

function paused(where: string, { by, reason }: FaultDetail): string {
  const text = reason?.trim()
  const why = text ? `: ${text.replace(/(?<![.!?])$/, '.')}` : '.'
  return `Sending is paused ${where}${by === 'operator' ? ' by the operator of this server' : ''}${why}`
}

/** Returns how to end a pause, depending on what caused it. */
function remedy({ by }: FaultDetail): string {
  const ask = 'ask the operator of this server to resume it.'
  if (by === 'bounces') return `Remove the addresses that do not exist, then ${ask}`
  if (by === 'complaints') return `Write only to people who want your mail, then ${ask}`
  return 'Ask them to resume it.'
}

/** Returns the error for an exceeded quota; without retry-after if the plan can never allow so many. */
function quotaError(fault: 'daily_quota_exceeded' | 'monthly_quota_exceeded', detail: FaultDetail): ApiError {
  const { limit = 0, left = 0, credits = 0, needed = 0, retry_after = null } = detail
  const isOfDay = fault === 'daily_quota_exceeded'
  const more = !isOfDay && credits > 0 ? `, and ${count(credits, 'credit')} beyond it` : ''
  const what =
    `The request needs ${count(needed, 'email')}. Your plan allows ${limit} in any ${isOfDay ? '24 hours' : '30 days'}, ` +
    `of which ${left} ${left === 1 ? 'is' : 'are'} left${more}.`
  if (retry_after === null) return new ApiError(fault, `${what} It never allows so many: send fewer at a time.`)
  const at = new Date((Math.ceil(now().getTime() / 1_000) + retry_after) * 1_000)
  return new ApiError(fault, `${what} There is room for the request at ${at.toISOString()}.`, {
    headers: { 'retry-after': String(Math.max(1, retry_after)) },
  })
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
