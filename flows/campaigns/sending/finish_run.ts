import { countSkipped, nextRun, type Rhythm } from '#lib/campaigns/recurrence.ts'
import { now } from '#lib/clock.ts'
import type { Log } from '#lib/log.ts'
import { announceCampaigns } from '#sql/campaigns/announce_campaigns.ts'
import { endRun, setSkipped } from '#sql/campaigns/sending/finish.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import { setSchedule } from '#sql/campaigns/start/start_campaign.ts'
import type { Tx } from '#sql/pool.ts'

/** How long before the next run the last one ends. */
const NEAR_MS = 60 * 60_000

/**
 * Returns true if a recurring campaign has its next run within an hour. The current run then ends even if servers temporarily
 * refuse some of its emails, which are still retried: every large campaign has a full mailbox, which is retried for days.
 */
export function isNextRunNear(run: Run): boolean {
  const rhythm = rhythmOf(run)
  if (!rhythm || !run.scheduled_at) return false
  const { begins_at } = nextRun(rhythm, run.scheduled_at, run.scheduled_at)
  return begins_at.getTime() - now().getTime() < NEAR_MS
}

/** Ends a run that has nothing left to store. A recurring campaign then waits for its next run. */
export async function finishRun(tx: Tx, run: Run, log: Log): Promise<null> {
  const campaign = { account_id: run.account_id, id: run.campaign_id }
  await endRun(tx, run, 'sent')
  await announceCampaigns(tx, 'campaign.sent', [campaign])
  const rhythm = rhythmOf(run)
  if (rhythm && run.scheduled_at) {
    const next = nextRun(rhythm, run.scheduled_at, now())
    const skipped = countSkipped(rhythm, run.scheduled_at, next)
    await setSchedule(tx, campaign, next)
    await setSkipped(tx, run, skipped)
    if (skipped > 0) log.warn({ campaign_id: campaign.id, run: run.run, skipped }, 'runs of a campaign were skipped')
  }
  return null
}

function rhythmOf({ recurrence, recurrence_every, timezone, first_run_at, send_in_local_time }: Run): Rhythm | null {
  if (recurrence === null || recurrence_every === null || first_run_at === null) return null
  return { recurrence, recurrence_every, timezone, first_run_at, send_in_local_time }
}

/** Fails a run for a permanent reason. The next step cancels the rest of it. */
export async function failRun(tx: Tx, run: Run, error: string): Promise<{ in_seconds: number }> {
  await endRun(tx, run, 'failed', error)
  return { in_seconds: 0 }
}
