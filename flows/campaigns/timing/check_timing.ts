import type { CampaignChange } from '#lib/campaigns/new_campaign.ts'
import { ApiError } from '#lib/errors.ts'
import type { CampaignFields } from '#sql/campaigns/campaigns.ts'

type Timing = Pick<
  CampaignFields,
  | 'recurrence'
  | 'recurrence_every'
  | 'timezone'
  | 'send_in_local_time'
  | 'skip_if_mailed_within_hours'
  | 'exclude_unengaged_days'
>

/** A campaign that is sent once, to everybody at the same moment. */
export const NO_TIMING: Timing = {
  recurrence: null,
  recurrence_every: null,
  timezone: 'UTC',
  send_in_local_time: false,
  skip_if_mailed_within_hours: null,
  exclude_unengaged_days: null,
}

/** Returns the timing of a campaign with the given fields changed; null clears one. @throws {ApiError} 422 */
export function checkTiming(before: Timing, change: Omit<CampaignChange, 'from'>): Timing {
  const pick = <Field extends keyof Timing>(field: Field): Timing[Field] => {
    const given = change[field] as Timing[Field] | null | undefined
    return given === undefined ? before[field] : (given ?? NO_TIMING[field])
  }
  const recurrence = pick('recurrence')
  if (recurrence === null && typeof change.recurrence_every === 'number') {
    throw new ApiError('validation_error', '`recurrence_every` must come with `recurrence`.')
  }
  const recurrence_every = recurrence === null ? null : (pick('recurrence_every') ?? 1)
  const send_in_local_time = pick('send_in_local_time')
  if (send_in_local_time && recurrence === 'daily' && recurrence_every === 1) {
    throw new ApiError(
      'validation_error',
      '`recurrence_every` must be at least 2 for a daily campaign with `send_in_local_time`: one day takes 26 hours in all time zones.',
    )
  }
  return {
    ...{ recurrence, recurrence_every, send_in_local_time, timezone: pick('timezone') },
    skip_if_mailed_within_hours: pick('skip_if_mailed_within_hours'),
    exclude_unengaged_days: pick('exclude_unengaged_days'),
  }
}
