import { ApiError } from '#lib/errors.ts'
import { findQuotaRoom } from '#sql/accounts/usage.ts'
import type { Addressed } from '#sql/campaigns/addressed.ts'
import { countRecipients } from '#sql/campaigns/count_recipients.ts'
import type { Tx } from '#sql/pool.ts'

/**
 * Rejects a campaign with more recipients than the quotas leave room for. Does not count recipients if there are no quotas.
 * Nothing is reserved: if other mail uses the room meanwhile, the rest of the campaign waits.
 *
 * @throws {ApiError} `daily_quota_exceeded` or `monthly_quota_exceeded`
 */
export async function requireQuota(tx: Tx, account_id: string, addressed: Addressed): Promise<void> {
  const { day, month } = await findQuotaRoom(tx, account_id)
  if (day === null && month === null) return
  const room = Math.min(day ?? Number.POSITIVE_INFINITY, month ?? Number.POSITIVE_INFINITY)
  if ((await countRecipients(tx, addressed, room + 1)) <= room) return
  const isOfDay = room === day
  const window = isOfDay ? '24 hours' : '30 days'
  throw new ApiError(
    isOfDay ? 'daily_quota_exceeded' : 'monthly_quota_exceeded',
    `The campaign has more recipients than your plan has room for: ${room} of the next ${window}.`,
  )
}
