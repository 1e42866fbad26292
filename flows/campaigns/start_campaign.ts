import { scheduleError } from '#flows/sending/errors.ts'
import type { CampaignSending, NewCampaign } from '#lib/campaigns/new_campaign.ts'
import { writtenNames } from '#lib/contents/campaign/recipient_values.ts'
import { compile } from '#lib/contents/render_content.ts'
import { listTrackedLinks } from '#lib/contents/track_part.ts'
import { notFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { type CampaignVariant, insertVariants } from '#sql/campaigns/ab/variants.ts'
import type { Addressed } from '#sql/campaigns/addressed.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type CampaignId, findCampaign, lockCampaign } from '#sql/campaigns/campaigns.ts'
import { readDomainFigures } from '#sql/campaigns/counts.ts'
import { insertCampaignLinks } from '#sql/campaigns/start/campaign_links.ts'
import { scheduleCampaign, startRun } from '#sql/campaigns/start/start_campaign.ts'
import { storeContents } from '#sql/contents/contents.ts'
import { insertCampaignPoll } from '#sql/polls/asked_polls.ts'
import type { Tx } from '#sql/pool.ts'
import { listAbWarnings } from './ab/ab_warnings.ts'
import { type Author, insertDraft, notDraft } from './change_campaign.ts'
import { type CampaignConfig, type Checked, checkCampaign, requireRecipients } from './check_campaign.ts'
import type { FrozenVariant } from './content/freeze_variants.ts'
import { requireQuota } from './require_quota.ts'
import { describeComplaints } from './sending/judge_complaints.ts'
import { planStart } from './timing/plan_start.ts'
import { listTrackingWarnings, listWarnings } from './warnings.ts'

/** Numbers links even if clicks are not tracked: the domain decides that per email. */
const TRACKED = { opens: false, clicks: true }

/** `warnings`: points that recipients or their mail servers may object to; the campaign is sent anyway. */
export type SentCampaign = { status: 'queued' | 'testing' | 'scheduled'; scheduled_at: Date | null; warnings: string[] }

/**
 * Starts to send a draft, or schedules it.
 *
 * @throws {ApiError} 404; 422 with the first reason why it cannot be sent; 429 if it exceeds a quota
 */
export async function sendCampaign(
  tx: Tx,
  config: CampaignConfig,
  campaign: CampaignId,
  sending: CampaignSending,
): Promise<SentCampaign> {
  const draft = await lockCampaign(tx, campaign)
  if (!draft) throw notFound('Campaign')
  if (draft.status !== 'draft') throw notDraft(draft, 'sent')
  return sendDraft(tx, config, campaign, draft, sending)
}

/** Stores a campaign and, if `send` is set, sends it: both or neither. @throws {ApiError} */
export async function createCampaign(
  tx: Tx,
  config: CampaignConfig,
  author: Author,
  given: NewCampaign,
): Promise<Campaign & { warnings?: string[] }> {
  const draft = await insertDraft(tx, author, given)
  if (!given.send) return draft
  const campaign = { account_id: author.account_id, id: draft.id }
  const { warnings } = await sendDraft(tx, config, campaign, draft, given)
  return { ...((await findCampaign(tx, campaign)) as Campaign), warnings }
}

async function sendDraft(
  tx: Tx,
  config: CampaignConfig,
  campaign: CampaignId,
  draft: Campaign,
  { scheduled_at: schedule, expected_recipients }: CampaignSending,
): Promise<SentCampaign> {
  if (schedule?.fault) throw scheduleError(schedule.fault)
  const plan = planStart(draft, schedule ?? null)
  const { account_id } = campaign
  const checked = await checkCampaign(tx, config, account_id, draft)
  const isLater = plan !== null && !schedule?.is_now
  const expected = isLater ? withoutRecentMail(checked.addressed) : checked.addressed
  await requireRecipients(tx, expected, expected_recipients ?? null)
  await requireQuota(tx, account_id, expected)
  const is_test = checked.frozen.variants.length > 1
  const ab_warnings = draft.ab_test && is_test ? await listAbWarnings(tx, expected, draft.ab_test) : []
  const complaints = describeComplaints(await readDomainFigures(tx, { account_id, domain_id: draft.domain_id }))
  const warnings = [
    ...listWarnings(checked.frozen, checked.postal_address, checked.addressed),
    ...ab_warnings,
    ...(await listTrackingWarnings(tx, account_id, is_test ? draft : { ...draft, ab_test: null })),
    ...(complaints ? [complaints] : []),
  ]
  if (isLater) {
    await scheduleCampaign(tx, campaign, plan)
    return { status: 'scheduled', scheduled_at: plan.at, warnings }
  }
  const scheduled_at = plan && draft.recurrence ? plan.at : null
  await beginSending(tx, campaign, checked, scheduled_at)
  return { status: is_test ? 'testing' : 'queued', scheduled_at, warnings }
}

/** Contacts who were mailed recently may get a campaign that is sent later. */
function withoutRecentMail(addressed: Addressed): Addressed {
  return { ...addressed, cap: { ...addressed.cap, skip_if_mailed_within_hours: null } }
}

type StoredVariant = FrozenVariant & { content_id: string }

/** Stores the frozen content of a locked campaign and starts its next run. `scheduled_at`: null if it was sent at once. */
export async function beginSending(
  tx: Tx,
  campaign: CampaignId,
  { frozen, addressed }: Checked,
  scheduled_at: Date | null,
): Promise<void> {
  const { subject, reply_to, variants, poll } = frozen
  const is_test = variants.length > 1
  const stored: StoredVariant[] = []
  for (const variant of variants)
    stored.push({ ...variant, content_id: await storeContent(tx, campaign.account_id, variant) })
  const first = stored[0] as StoredVariant
  const mail = { sender: first.sender, subject: first.subject, reply_to, content_id: first.content_id }
  const run = await startRun(tx, campaign, { ...mail, subject_of_all: subject, is_test, scheduled_at })
  const numbered = stored.map((variant, n) => ({ ...variant, variant: is_test ? n + 1 : 0 }))
  let links: TrackedLinks | null = null
  for (const { html, text, variant } of numbered) {
    if (links?.html !== html || links.text !== text) links = await linksOf({ html, text })
    await insertCampaignLinks(tx, { ...campaign, run }, variant, links.links)
  }
  const tested = numbered.flatMap(({ key, variant, sender, subject, content_id }): CampaignVariant[] =>
    key === null || !is_test ? [] : [{ variant, key, sender, subject, content_id }],
  )
  if (tested.length > 0) await insertVariants(tx, campaign, tested)
  const { account_id, id: campaign_id } = campaign
  if (poll) await insertCampaignPoll(tx, { account_id, id: newId(), domain_id: addressed.domain_id, campaign_id }, poll)
}

/** Stores a content that recipients share; returns its id. */
async function storeContent(tx: Tx, account_id: string, { html, text }: FrozenVariant): Promise<string> {
  const content_id = newId()
  await storeContents(tx, account_id, [{ id: content_id, html, text }])
  return content_id
}

type TrackedLinks = Pick<FrozenVariant, 'html' | 'text'> & { links: { link: number; url: string }[] }

async function linksOf(parts: Pick<FrozenVariant, 'html' | 'text'>): Promise<TrackedLinks> {
  const compiled = await compile(parts, { has_values: true, is_personal: true, tracking: TRACKED })
  const links = compiled.html ? listTrackedLinks(compiled.html) : []
  return { ...parts, links: links.map(({ link, url }) => ({ link, url: writtenNames(url) })) }
}
