import { type CampaignChange, MAX_NAME, type NewCampaign } from '#lib/campaigns/new_campaign.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { type Address, formatAddress, parseAddress } from '#lib/mail/address.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import {
  type CampaignFields,
  type CampaignId,
  findCampaign,
  insertCampaign,
  lockCampaign,
  updateCampaign,
} from '#sql/campaigns/campaigns.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { readAudience, requireGroups, requireSenderDomain, requireTemplateId } from './campaign_groups.ts'
import { checkTiming, NO_TIMING } from './timing/check_timing.ts'
import { requireUnchanged } from './timing/later_runs.ts'

/** The account that creates a campaign, and the id of its API key. */
export type Author = { account_id: string; source_id: string | null }

const NOTHING: Omit<CampaignFields, 'domain_id' | 'from'> = {
  name: '',
  audience_id: null,
  segment_id: null,
  topic_id: null,
  reply_to: [],
  subject: null,
  preview_text: null,
  html: null,
  text: null,
  template_id: null,
  track_opens: null,
  track_clicks: null,
  ab_test: null,
  poll: null,
  ...NO_TIMING,
}

/**
 * Stores a draft. @throws {ApiError} 404 if a group or template that it names does not exist; 422 if that is not of the
 * domain of `from`
 */
export async function insertDraft(tx: Tx, { account_id, source_id }: Author, given: NewCampaign): Promise<Campaign> {
  const domain_id = await requireSenderDomain(tx, account_id, given.from)
  const before = { ...NOTHING, domain_id, from: formatAddress(given.from) }
  const read = await readAudience(tx, account_id, given)
  const fields = await checked(tx, account_id, merge(before, read), read)
  return insertCampaign(tx, { account_id, id: newId(), source_id }, fields)
}

/** Changes the given fields of a draft. @throws {ApiError} 404; 422 if it is no longer a draft */
export async function changeCampaign(pool: Pool, campaign: CampaignId, change: CampaignChange): Promise<void> {
  const { account_id } = campaign
  await pool.transaction(async tx => {
    const before = await lockCampaign(tx, campaign)
    if (!before) throw notFound('Campaign')
    if (before.status !== 'draft') throw notDraft(before, 'changed')
    const { domain } = change.from ?? (parseAddress(before.from) as Address)
    const domain_id = await requireSenderDomain(tx, account_id, { domain })
    const read = await readAudience(tx, account_id, change)
    const merged = merge({ ...before, domain_id }, read)
    await requireUnchanged(tx, campaign, before, merged)
    await updateCampaign(tx, campaign, await checked(tx, account_id, merged, read))
  })
}

/** Creates a draft that copies a campaign, named `Copy of …` by default. @throws {ApiError} 404 */
export async function copyCampaign(
  tx: Tx,
  { account_id, source_id }: Author,
  id: string,
  name: string | null | undefined,
): Promise<Campaign> {
  const original = await findCampaign(tx, { account_id, id })
  if (!original) throw notFound('Campaign')
  const copy = { ...original, name: name ?? `Copy of ${original.name}`.trimEnd().slice(0, MAX_NAME).toWellFormed() }
  return insertCampaign(tx, { account_id, id: newId(), source_id }, copy)
}

export function notDraft({ status }: Pick<Campaign, 'status'>, participle: string): ApiError {
  const hint = status === 'scheduled' ? ' Cancel it first.' : ''
  return new ApiError('validation_error', `Only a draft can be ${participle}; this campaign is ${status}.${hint}`)
}

function merge(before: CampaignFields, { from, reply_to, ...change }: CampaignChange): CampaignFields {
  const given = Object.fromEntries(
    Object.keys(NOTHING).flatMap(field => {
      const value = change[field as keyof typeof change]
      return value === undefined ? [] : [[field, value]]
    }),
  )
  return {
    ...before,
    ...given,
    ...checkTiming(before, change),
    name: change.name === undefined ? before.name : (change.name ?? ''),
    from: from ? formatAddress(from) : before.from,
    reply_to: reply_to === undefined ? before.reply_to : (reply_to ?? []).map(formatAddress),
  }
}

/** @throws {ApiError} 422 if a variant is from another domain */
function requireSenders({ from, ab_test }: CampaignFields): void {
  const { domain } = parseAddress(from) as Address
  const place = ab_test?.variants.findIndex(one => one.from && parseAddress(one.from)?.domain !== domain) ?? -1
  if (place < 0) return
  throw new ApiError('validation_error', `\`ab_test.variants[${place}].from\` must be at the domain of \`from\`.`)
}

/** Checks only the references in `given`. Others may have been deleted since: only sending needs them. */
async function checked(tx: Tx, account_id: string, fields: CampaignFields, given: CampaignChange) {
  const { template_id: ref } = given
  const template_id = ref ? await requireTemplateId(tx, account_id, ref) : fields.template_id
  const part = (['html', 'text'] as const).find(field => fields[field] !== null)
  if (template_id !== null && part) {
    throw new ApiError('validation_error', `\`${part}\` cannot be combined with \`template_id\`.`)
  }
  await requireGroups(tx, account_id, fields, given)
  requireSenders(fields)
  return { ...fields, template_id }
}
