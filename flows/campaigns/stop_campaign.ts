import { ApiError, notFound } from '#lib/errors.ts'
import { announceCampaigns } from '#sql/campaigns/announce_campaigns.ts'
import type { Campaign, CampaignStatus } from '#sql/campaigns/campaign_records.ts'
import { type CampaignId, lockCampaign } from '#sql/campaigns/campaigns.ts'
import { addSendJob } from '#sql/campaigns/sending/runs.ts'
import { lockStopped } from '#sql/campaigns/stop/cancel_rest.ts'
import {
  cancelCampaign,
  pauseCampaign,
  reopenRun,
  resumeCampaign,
  retryFailed,
  unscheduleCampaign,
} from '#sql/campaigns/stop/change_status.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { cancelPart } from './sending/clear_stopped.ts'

/**
 * Maximum number of rows that the request itself cancels: a million would take longer than a request may. The job cancels the rest.
 */
const PART = { emails: 10_000, pending: 10_000 }

/**
 * Cancels a campaign: a scheduled one becomes a draft again, one that is being sent ends. After this commit no worker
 * claims any of its emails. Locks the campaign before the usage of its account, as the worker that stores its emails does.
 * Returns its new status.
 *
 * @throws {ApiError} 404; 422
 */
export async function stopCampaign(pool: Pool, campaign: CampaignId): Promise<CampaignStatus> {
  const stop = async (tx: Tx): Promise<CampaignStatus> => {
    const { status } = await requireStatus(tx, campaign, ['scheduled', 'queued', 'testing', 'paused'], 'canceled')
    if (status === 'scheduled') {
      await unscheduleCampaign(tx, campaign)
      return 'draft'
    }
    await cancelCampaign(tx, campaign)
    const run = await lockStopped(tx, idOf(campaign))
    if (run) await cancelPart(tx, run, PART)
    await addSendJob(tx, idOf(campaign))
    await announceCampaigns(tx, 'campaign.canceled', [campaign])
    return 'canceled'
  }
  return retryConflicts(() => pool.transaction(stop))
}

/** Pauses a campaign. @throws {ApiError} 404; 422 */
export async function suspendCampaign(pool: Pool, campaign: CampaignId): Promise<CampaignStatus> {
  return pool.transaction<CampaignStatus>(async tx => {
    await requireStatus(tx, campaign, ['queued', 'testing'], 'paused')
    await pauseCampaign(tx, campaign, null)
    await announceCampaigns(tx, 'campaign.paused', [campaign])
    return 'paused'
  })
}

/** @throws {ApiError} 404; 422 */
export async function continueCampaign(pool: Pool, campaign: CampaignId): Promise<CampaignStatus> {
  return pool.transaction<CampaignStatus>(async tx => {
    await requireStatus(tx, campaign, ['paused'], 'resumed')
    const status = await resumeCampaign(tx, campaign)
    await addSendJob(tx, idOf(campaign))
    return status
  })
}

/**
 * Sends a campaign, or the last run of a recurring one, again to recipients whose email failed; returns how many.
 *
 * @throws {ApiError} 404; 422 if no email has failed
 */
export async function retryCampaign(pool: Pool, campaign: CampaignId): Promise<number> {
  return pool.transaction(async tx => {
    const found = await requireStatus(tx, campaign, ['sent', 'scheduled'], 'retried')
    // When the retry ends, only a campaign that recurs is scheduled again.
    if (found.status === 'scheduled' && found.recurrence === null) throw wrongStatus('scheduled', 'retried')
    const recipients = await retryFailed(tx, campaign)
    if (recipients === 0) throw new ApiError('validation_error', 'No email of the campaign has failed.')
    await reopenRun(tx, campaign)
    await addSendJob(tx, idOf(campaign))
    return recipients
  })
}

function idOf({ account_id, id }: CampaignId) {
  return { account_id, campaign_id: id }
}

async function requireStatus(
  tx: Tx,
  campaign: CampaignId,
  allowed: CampaignStatus[],
  participle: string,
): Promise<Campaign> {
  const found = await lockCampaign(tx, campaign)
  if (!found) throw notFound('Campaign')
  if (allowed.includes(found.status)) return found
  throw wrongStatus(found.status, participle)
}

function wrongStatus(status: CampaignStatus, participle: string): ApiError {
  return new ApiError('validation_error', `A campaign that is ${status} cannot be ${participle}.`)
}
