import { ApiError } from '#lib/errors.ts'
import type { Log } from '#lib/log.ts'
import { announceCampaigns } from '#sql/campaigns/announce_campaigns.ts'
import type { CampaignId } from '#sql/campaigns/campaigns.ts'
import {
  type DueCampaign,
  failCampaign,
  listDueCampaigns,
  lockDueCampaign,
} from '#sql/campaigns/start/start_campaign.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { cancelLastRun } from './cancel_last_run.ts'
import { type CampaignConfig, checkCampaign } from './check_campaign.ts'
import { beginSending } from './start_campaign.ts'

type Services = { pool: Pool; config: CampaignConfig; log: Log }

const AT_ONCE = 100

/**
 * Starts the scheduled campaigns that are due, each in its own transaction.
 *
 * @throws {AggregateError} with the errors of campaigns that could not be started, after the others were
 */
export async function startScheduled(services: Services): Promise<void> {
  const errors: unknown[] = []
  // Goes on after those that could not be started: they stay due, and would keep all others from starting.
  for (let last: DueCampaign | null = null; ; ) {
    const due = await listDueCampaigns(services.pool, last, AT_ONCE)
    for (const campaign of due) await startDue(services, campaign).catch(error => errors.push(error))
    if (due.length < AT_ONCE) break
    last = due.at(-1) as DueCampaign
  }
  if (errors.length > 0) throw new AggregateError(errors, 'some scheduled campaigns could not be started')
}

/** Fails a campaign that can no longer be sent, with the reason. */
async function startDue({ pool, config, log }: Services, campaign: CampaignId): Promise<void> {
  try {
    await pool.transaction(async tx => {
      const due = await lockDueCampaign(tx, campaign)
      if (!due) return
      const checked = await checkCampaign(tx, config, campaign.account_id, due, { is_due: true })
      await beginSending(tx, campaign, checked, due.scheduled_at)
    })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    log.warn({ campaign_id: campaign.id, error: error.message }, 'a scheduled campaign could not be sent')
    while (!(await retryConflicts(() => pool.transaction(tx => failPart(tx, campaign, error.message)))));
  }
}

/**
 * Fails a campaign that is due, and cancels what its last run still tries to send, since nothing of a failed campaign is
 * claimed. Returns true once it has failed.
 */
async function failPart(tx: Tx, campaign: CampaignId, error: string): Promise<boolean> {
  if (!(await lockDueCampaign(tx, campaign))) return true
  if (!(await cancelLastRun(tx, campaign))) return false
  await failCampaign(tx, campaign, error)
  await announceCampaigns(tx, 'campaign.failed', [campaign])
  return true
}
