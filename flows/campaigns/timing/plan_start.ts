import { firstLocalTime, localTimeFrom } from '#lib/campaigns/local_time.ts'
import { now } from '#lib/clock.ts'
import { ApiError } from '#lib/errors.ts'
import type { Schedule } from '#lib/sending/schedule.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { PlannedStart } from '#sql/campaigns/start/start_campaign.ts'

/** Returns when a draft starts; null if at once. @throws {ApiError} 422 if it needs a time, or a later one */
export function planStart(
  { recurrence, send_in_local_time, timezone }: Campaign,
  schedule: Schedule | null,
): PlannedStart | null {
  if (schedule === null && recurrence !== null) {
    throw new ApiError('validation_error', '`scheduled_at` must say when the first run of a recurring campaign is.')
  }
  if (schedule === null && send_in_local_time) {
    throw new ApiError('validation_error', '`scheduled_at` must be given for a campaign with `send_in_local_time`.')
  }
  if (schedule === null) return null
  if (!send_in_local_time) return { at: schedule.at, begins_at: schedule.at }
  const begins_at = firstLocalTime(schedule.at, timezone)
  if (begins_at > now()) return { at: schedule.at, begins_at }
  const earliest = new Date(Math.ceil(localTimeFrom(now(), timezone).getTime() / MINUTE_MS) * MINUTE_MS).toISOString()
  throw new ApiError(
    'validation_error',
    `\`scheduled_at\` must be later than ${earliest}: with \`send_in_local_time\`, it must be in the future in every time zone.`,
  )
}

const MINUTE_MS = 60_000
