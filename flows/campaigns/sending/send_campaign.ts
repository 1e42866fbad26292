import type { Log } from '#lib/log.ts'
import { setDecideAt } from '#sql/campaigns/ab/decision.ts'
import { countUnfinished, findRest, isMostlyFinished } from '#sql/campaigns/sending/finish.ts'
import { addSendJob, listDueRuns, lockRun, moveRun, type Run, setWaitReason } from '#sql/campaigns/sending/runs.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { decideByFigures } from '../ab/decide_winner.ts'
import { clearStopped } from './clear_stopped.ts'
import { findRecipients } from './find_recipients.ts'
import { failRun, finishRun, isNextRunNear } from './finish_run.ts'
import { judgeRun } from './judge_run.ts'
import { releaseLocally } from './local_due_times.ts'
import { sendSlice } from './send_slice.ts'
import { MANY_DEFERRED, reasonOf } from './wait_reasons.ts'

/** Maximum number of emails of one campaign that are stored and not sent yet. */
const AHEAD = 10_000
/** Maximum emails that wait for servers which refuse them for the moment, as a multiple of `AHEAD`: other servers' mail goes on. */
const DEFERRED = 10
/** Emails stored per commit. */
const SLICE = 1_000
/** Recipients released per commit once the winner is known. */
const RELEASED = 5_000

/** The job of a run that is this late for its next step was lost. */
const LOST_SECONDS = 40
/** How long until a campaign continues: while its mail is sent, and while it waits for retries. */
const SOON_SECONDS = 1
const LATER_SECONDS = 10
/** Longest wait for the next time zone, which may be hours away. */
const MAX_WAIT_SECONDS = 600

/** `slice`: contacts and recipients per commit; tests use fewer. */
type Services = { pool: Pool; log: Log; config: { SIMULATOR_DOMAIN: string }; slice?: number; ahead?: number }
type Campaign = { account_id: string; campaign_id: string }

/** The result of one commit: when the next one is due; null: nothing is left to do. */
type Step = { in_seconds: number } | null

/**
 * Sends as much of a campaign as is possible now: finds its recipients, stores their emails, and ends it once all are
 * sent. Each commit is complete in itself, so a worker may die at any point. A job continues later; if that is lost,
 * the sweep adds another.
 */
export async function sendCampaign(services: Services, campaign: Campaign): Promise<void> {
  for (;;) {
    const step = await retryConflicts(() => services.pool.transaction(tx => takeStep(tx, services, campaign)))
    if (step === null) return
    if (step.in_seconds > 0) return addSendJob(services.pool, campaign, step.in_seconds)
  }
}

async function takeStep(tx: Tx, services: Services, campaign: Campaign): Promise<Step> {
  const run = await lockRun(tx, campaign)
  if (!run) return clearStopped(tx, campaign, services.slice)
  const step = await act(tx, services, run)
  if (step) await moveRun(tx, run, step.in_seconds + LOST_SECONDS)
  return step
}

async function act(tx: Tx, { config, log, slice, ahead = AHEAD }: Services, run: Run): Promise<Step> {
  if (!run.has_domain) return failRun(tx, run, 'The domain of the campaign was deleted.')
  if (!run.is_found) {
    const isFound = await findRecipients(tx, run, config.SIMULATOR_DOMAIN, slice)
    return isFound ? { in_seconds: 0 } : failRun(tx, run, 'The segment or the topic of the campaign was deleted.')
  }
  if (await judgeRun(tx, run)) return null
  if ((await releaseLocally(tx, run, slice ?? RELEASED)) > 0) return { in_seconds: 0 }
  if (run.paused && (await waitsForOperator(tx, run, run.paused))) return { in_seconds: LATER_SECONDS }
  const limit = slice ?? SLICE
  const unfinished = await countUnfinished(tx, run, (1 + DEFERRED) * ahead)
  if (unfinished.deferred >= DEFERRED * ahead) {
    await setWaitReason(tx, run, MANY_DEFERRED)
    return { in_seconds: LATER_SECONDS }
  }
  const room = ahead - unfinished.ahead
  // While mail is sent, room appears a few emails at a time, and slices of a few cost more.
  if (room < Math.max(1, Math.min(limit, ahead) / 4)) {
    await setWaitReason(tx, run, null)
    return { in_seconds: SOON_SECONDS }
  }
  const sent = await sendSlice(tx, run, Math.min(limit, room), config.SIMULATOR_DOMAIN)
  if (!sent) return failRun(tx, run, 'The content of the campaign was deleted.')
  if (sent.wait) return sent.wait
  if (sent.taken > 0) return { in_seconds: 0 }
  const { has_pending, has_unfinished, is_active, next_in } = await findRest(tx, run)
  if (!has_pending && !has_unfinished) return finishRun(tx, run, log)
  if (is_active) return { in_seconds: SOON_SECONDS }
  if (!has_pending && isNextRunNear(run)) return finishRun(tx, run, log)
  if (next_in !== null) return { in_seconds: waitFor(next_in, has_unfinished) }
  // All who are due have their email: the others wait for the winner.
  if (has_pending && run.ab_test && run.decided_variant === null) return waitForWinner(tx, run, run.ab_test)
  return { in_seconds: LATER_SECONDS }
}

/** Stores why a campaign waits while the operator has paused sending; returns false if nothing of it is left. */
async function waitsForOperator(tx: Tx, run: Run, paused: NonNullable<Run['paused']>): Promise<boolean> {
  const { has_pending, has_unfinished } = await findRest(tx, run)
  if (!has_pending && !has_unfinished) return false
  await setWaitReason(tx, run, reasonOf(paused))
  return true
}

/** Waits less while emails are unfinished, so that their bounces are judged. */
function waitFor(seconds: number, has_unfinished: boolean): number {
  return Math.min(Math.max(1, Math.ceil(seconds)), has_unfinished ? LATER_SECONDS : MAX_WAIT_SECONDS)
}

async function waitForWinner(tx: Tx, run: Run, test: NonNullable<Run['ab_test']>): Promise<Step> {
  const campaign = { account_id: run.account_id, id: run.campaign_id }
  if (run.decides_in === null) {
    // Servers may refuse the emails of the test for hours; without them there is nothing to compare.
    if (!(await isMostlyFinished(tx, run))) return { in_seconds: LATER_SECONDS }
    await setDecideAt(tx, campaign, test.wait_hours)
    return { in_seconds: test.wait_hours * 60 * 60 }
  }
  if (run.decides_in > 0) return { in_seconds: Math.ceil(run.decides_in) }
  await decideByFigures(tx, campaign, test.winner_metric)
  return { in_seconds: 0 }
}

/** Campaigns per sweep. */
const SWEPT = 100

/** Adds a job for each campaign whose job was lost. */
export async function sweepCampaigns(pool: Pool, log: Log): Promise<void> {
  for (const campaign of await listDueRuns(pool, SWEPT)) {
    await addSendJob(pool, campaign)
    log.debug(campaign, 'a campaign goes on')
  }
}
