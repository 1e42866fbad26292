import { refuseUsedByAutomation, refuseUsedByCampaign } from '#flows/domains/removal/refuse_used.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { markPropertyDeleted } from '#sql/contacts/properties.ts'
import { findAutomationWithProperty } from '#sql/domains/automation_usages.ts'
import { findCampaignWithProperty } from '#sql/domains/campaign_usages.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { lockSegments } from '#sql/segments/segments.ts'
import { findSegmentWithProperty } from '#sql/segments/usages.ts'

/**
 * Seconds until the job runs: longer than any request or slice of an import takes that knew the property, and may store
 * values of it until then. They would be values of the next property with this key.
 */
const WRITERS_SECONDS = 60

/**
 * Hides a contact property at once; a job removes its values. @throws {ApiError} 404; 422 if a segment, an enabled
 * automation, or a campaign that is scheduled or being sent uses it: the rest of its recipients would get mail without the value
 */
export async function removeProperty(pool: Pool, account_id: string, id: string): Promise<void> {
  await pool.transaction(async tx => {
    await lockSegments(tx, account_id)
    const name = await findSegmentWithProperty(tx, account_id, id)
    if (name !== null) {
      const user = JSON.stringify(name)
      throw new ApiError('validation_error', `The property is used by the segment ${user}: change its filter first.`)
    }
    refuseUsedByCampaign('property', await findCampaignWithProperty(tx, account_id, id))
    refuseUsedByAutomation('property', await findAutomationWithProperty(tx, account_id, id))
    if ((await markPropertyDeleted(tx, account_id, id)) === 0) throw notFound('Contact property')
    await addJob(tx, 'remove_leftovers', { account_id, of: 'property', id }, null, WRITERS_SECONDS)
  })
}
