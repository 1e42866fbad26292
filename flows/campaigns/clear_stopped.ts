import { countCampaign } from '#sql/campaigns/counts.ts'
import { closeRun } from '#sql/campaigns/finish.ts'
import { moveRun } from '#sql/campaigns/runs.ts'
import { cancelDeliveries, cancelPending, isBeingSent, lockStopped } from '#sql/campaigns/stop.ts'
import type { Tx } from '#sql/pool.ts'

/** Recipients and emails that one commit cancels: its locks are held for as long. */
const PENDING = 5_000
const EMAILS = 500

/** A result that is still to come is waited for. */
const WAIT_SECONDS = 2

/**
 * Cancels what is left of a campaign that was canceled or has failed, a part in each commit. None of it can be claimed since the
 * commit that stopped the campaign. Null: the campaign is not stopped, or nothing is left.
 */
export async function clearStopped(
  tx: Tx,
  campaign: { account_id: string; campaign_id: string },
  slice?: number,
): Promise<{ in_seconds: number } | null> {
  const run = await lockStopped(tx, campaign)
  if (!run) return null
  // Emails first: their cancellation locks the usage of the account before anything else.
  if ((await cancelDeliveries(tx, run, slice ?? EMAILS)) > 0) return { in_seconds: 0 }
  const canceled = await cancelPending(tx, run, slice ?? PENDING)
  await countCampaign(
    tx,
    run,
    canceled.map(({ variant, count }) => ({ variant, name: 'canceled', by: count })),
  )
  if (canceled.length > 0) return { in_seconds: 0 }
  if (!(await isBeingSent(tx, run))) {
    await closeRun(tx, run)
    return null
  }
  await moveRun(tx, run, 2 * WAIT_SECONDS)
  return { in_seconds: WAIT_SECONDS }
}
