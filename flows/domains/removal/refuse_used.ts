import { ApiError } from '#lib/errors.ts'
import { type AutomationPart, type AutomationUser, findAutomationUsing } from '#sql/domains/automation_usages.ts'
import { type CampaignPart, findCampaignUsing } from '#sql/domains/campaign_usages.ts'
import type { Tx } from '#sql/pool.ts'

/**
 * Refuses to delete a locked row that a campaign or an automation uses.
 *
 * @throws {ApiError} 422 with the name of the first campaign that is scheduled or being sent, or of the first automation
 * that is enabled or has runs in progress
 */
export async function refuseUsed(
  tx: Tx,
  account_id: string,
  part: CampaignPart | AutomationPart,
  id: string,
): Promise<void> {
  refuseUsedByCampaign(part, await findCampaignUsing(tx, account_id, part, id))
  if (part !== 'audience') refuseUsedByAutomation(part, await findAutomationUsing(tx, account_id, part, id))
}

/** @throws {ApiError} 422 if a campaign, given by its name, uses the row to be deleted */
export function refuseUsedByCampaign(what: string, campaign: string | null): void {
  if (campaign === null) return
  const user = JSON.stringify(campaign)
  throw new ApiError('validation_error', `The ${what} is used by the campaign ${user}: cancel the campaign first.`)
}

/** @throws {ApiError} 422 if an automation uses the row to be deleted, so that its runs would fail */
export function refuseUsedByAutomation(what: string, automation: AutomationUser | null): void {
  if (automation === null) return
  const user = JSON.stringify(automation.name)
  const why = automation.is_enabled
    ? `The ${what} is used by the automation ${user}: disable the automation first.`
    : `The ${what} is used by the automation ${user}, and contacts are still in its runs: stop the automation first, or wait until they end.`
  throw new ApiError('validation_error', why)
}
