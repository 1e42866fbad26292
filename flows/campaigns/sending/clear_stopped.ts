import { countCampaign } from '#sql/campaigns/counts.ts'
import { closeRun } from '#sql/campaigns/sending/finish.ts'
import { moveRun, type RunId } from '#sql/campaigns/sending/runs.ts'
import { cancelDeliveries, cancelPending, isBeingSent, lockStopped } from '#sql/campaigns/stop/cancel_rest.ts'
import type { Tx } from '#sql/pool.ts'

/** Recipients and emails that are canceled per commit; more would hold their locks for longer. */
const PENDING = 5_000
const EMAILS = 500

/** Seconds until emails that are being sent are looked at again. */
const WAIT_SECONDS = 2

/**
 * Cancels the rest of a campaign that was canceled or has failed, one slice per commit. None of it can be claimed since
 * the commit that stopped the campaign. Returns null if the campaign is not stopped or nothing is left.
 */
export async function clearStopped(
  tx: Tx,
  campaign: { account_id: string; campaign_id: string },
  slice?: number,
): Promise<{ in_seconds: number } | null> {
  const run = await lockStopped(tx, campaign)
  if (!run) return null
  const canceled = await cancelPart(tx, run, { emails: slice ?? EMAILS, pending: slice ?? PENDING })
  if (canceled > 0) return { in_seconds: 0 }
  if (!(await isBeingSent(tx, run))) {
    await closeRun(tx, run)
    return null
  }
  await moveRun(tx, run, 2 * WAIT_SECONDS)
  return { in_seconds: WAIT_SECONDS }
}

/** Cancels emails and recipients of a stopped campaign, at most the given number of each; returns how many. */
export async function cancelPart(
  tx: Tx,
  run: RunId,
  { emails, pending }: { emails: number; pending: number },
): Promise<number> {
  // Emails first: their cancellation locks the usage of the account, which comes before the rows of recipients.
  const sent = await cancelDeliveries(tx, run, emails)
  const canceled = await cancelPending(tx, run, pending)
  await countCampaign(
    tx,
    run,
    canceled.map(({ variant, count }) => ({ variant, name: 'canceled', by: count })),
  )
  return sent + canceled.reduce((sum, { count }) => sum + count, 0)
}
