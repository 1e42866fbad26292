import { now } from '#lib/clock.ts'
import { ApiError } from '#lib/errors.ts'
import type { FaultDetail, RequestFault } from '#sql/sending/accept/drafts.ts'

/** How long a pause or a fault lasts nobody knows: often enough to notice its end, seldom enough to be no load. */
const RETRY_SECONDS = 30

/** Returns the error for a request that quotas or safety switches refuse. */
export function requestError(fault: RequestFault, domain: string, detail: FaultDetail): ApiError {
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
    // Without retry-after, since a person has to decide.
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

/** How to get out of a pause, by whatever found it to be necessary. */
function remedy({ by }: FaultDetail): string {
  const ask = 'ask the operator of this server to resume it.'
  if (by === 'bounces') return `Remove the addresses that do not exist, then ${ask}`
  if (by === 'complaints') return `Write only to people who want your mail, then ${ask}`
  return 'Ask them to resume it.'
}

/** Without retry-after when the plan never has room for it. */
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
