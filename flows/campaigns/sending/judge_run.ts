import { announceCampaigns } from '#sql/campaigns/announce_campaigns.ts'
import { readDomainFigures, readFigures } from '#sql/campaigns/counts.ts'
import { type Run, setJudged } from '#sql/campaigns/sending/runs.ts'
import { pauseCampaign } from '#sql/campaigns/stop/change_status.ts'
import type { Tx } from '#sql/pool.ts'
import { describeComplaints, TOO_MANY } from './judge_complaints.ts'

/** Results below which a rate is not significant. */
const SAMPLE = 500
/** Share of bounces among the emails that were delivered or bounced. */
const MAX_BOUNCED = 0.05
/** Emails whose first attempt ended without a response from a mail server. */
const MAX_UNREACHED = 50

/**
 * Pauses a campaign with too many bounces or complaints, or whose mail reaches no server at all. Bounces are judged per
 * 500 results. Complaints are judged over all results since they last paused the campaign. They are also judged
 * together with those of the domain's other campaigns, until that has paused the campaign once. Returns true if it was paused.
 */
export async function judgeRun(tx: Tx, run: Run): Promise<boolean> {
  const { delivered = 0, bounced = 0, sent = 0, complained = 0, unreached = 0 } = await readFigures(tx, run)
  const settled = delivered + bounced
  const now = { settled, bounced, sent, complained, unreached, reached: settled }
  const since = (figure: keyof typeof now) => now[figure] - (run.judged[figure] ?? 0)
  const stop = (reason: string) => pause(tx, run, { ...run.judged, ...now }, reason)
  if (since('sent') >= SAMPLE && since('complained') > TOO_MANY * since('sent')) {
    return stop(`${since('complained')} of ${since('sent')} recipients complained.`)
  }
  const of_domain = run.judged.of_domain ? null : describeComplaints(await readDomainFigures(tx, run), TOO_MANY)
  if (of_domain) return pause(tx, run, { ...now, of_domain: 1 }, of_domain)
  const judged: Record<string, number> = {}
  if (since('unreached') >= MAX_UNREACHED) {
    if (since('reached') === 0) return stop(`The last ${since('unreached')} emails reached no mail server.`)
    Object.assign(judged, { unreached, reached: settled })
  }
  if (since('settled') >= SAMPLE) {
    if (since('bounced') > MAX_BOUNCED * since('settled')) {
      return stop(`${since('bounced')} of the last ${since('settled')} recipients bounced.`)
    }
    Object.assign(judged, { settled, bounced })
  }
  if (Object.keys(judged).length > 0) await setJudged(tx, run, { ...run.judged, ...judged })
  return false
}

async function pause(tx: Tx, run: Run, judged: Record<string, number>, reason: string): Promise<boolean> {
  await setJudged(tx, run, judged)
  const campaign = { account_id: run.account_id, id: run.campaign_id }
  await pauseCampaign(tx, campaign, reason)
  await announceCampaigns(tx, 'campaign.paused', [campaign])
  return true
}
