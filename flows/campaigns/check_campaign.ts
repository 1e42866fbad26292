import { faultError } from '#flows/sending/errors.ts'
import { isPublicHttps } from '#lib/campaigns/public_url.ts'
import type { Config } from '#lib/config.ts'
import { defaultTransport } from '#lib/delivery/relay_urls.ts'
import { ApiError } from '#lib/errors.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import { type Addressed, loadAddressed } from '#sql/campaigns/addressed.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { countRecipients } from '#sql/campaigns/count_recipients.ts'
import { findSender, judgeSender } from '#sql/campaigns/start/judge_sender.ts'
import { lockGroups } from '#sql/campaigns/start/lock_groups.ts'
import { blockDomainDeletion } from '#sql/domains/domains.ts'
import type { Queryable, Tx } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { mayPass, RequestFault } from '#sql/sending/accept/faults.ts'
import { type FrozenCampaign, freezeVariants } from './content/freeze_variants.ts'
import { campaignOfNextRun } from './timing/later_runs.ts'

export type CampaignConfig = Pick<Config, 'BASE_URL' | 'MAIL_TRANSPORT' | 'SIMULATOR_DOMAIN'>

/** A campaign that can be sent. */
export type Checked = { frozen: FrozenCampaign; postal_address: string | null; addressed: Addressed }

/**
 * Checks that a locked campaign can be sent, and locks the groups that it names against deletion until the transaction
 * ends.
 *
 * @param is_due true for a scheduled campaign, which starts even while sending is paused
 * @throws {ApiError} 422 with the first reason; another code if sending is paused or not configured
 */
export async function checkCampaign(
  tx: Tx,
  config: CampaignConfig,
  account_id: string,
  campaign: Campaign,
  { is_due = false } = {},
): Promise<Checked> {
  // In the order in which a domain is deleted with its groups. Whether it exists is checked below.
  await blockDomainDeletion(tx, account_id, campaign.domain_id)
  await lockGroups(tx, account_id, campaign)
  requireContent(campaign)
  requireGroup(campaign)
  const { domain } = parseAddress(campaign.from) as Address
  await requireSender(tx, { account_id, domain }, is_due ? 'temporary' : 'none')
  const { transport, postal_address } = await findSender(tx, account_id, campaign.domain_id)
  requirePublicUrl(config, transport)
  const next = await campaignOfNextRun(tx, account_id, campaign)
  const frozen = await freezeVariants(tx, account_id, next, postal_address)
  return { frozen, postal_address, addressed: await requireAddressed(tx, config, account_id, campaign) }
}

/** Returns the groups that a campaign addresses. @throws {ApiError} 422 if it names none, or one that was deleted */
export async function requireAddressed(
  db: Queryable,
  { SIMULATOR_DOMAIN }: Pick<Config, 'SIMULATOR_DOMAIN'>,
  account_id: string,
  campaign: Campaign,
): Promise<Addressed> {
  requireGroup(campaign)
  const addressed = await loadAddressed(db, account_id, campaign, SIMULATOR_DOMAIN)
  return addressed ?? fail('The audience, the segment or the topic of the campaign was deleted.')
}

function requireContent({ html, text, template_id }: Campaign): void {
  if (!html && !text && template_id === null) {
    fail('The campaign has no content: give it `html`, `text` or a `template_id`.')
  }
}

function requireGroup({ audience_id, segment_id }: Campaign): void {
  if (audience_id === null && segment_id === null) {
    fail('The campaign has no recipients: give it an `audience_id` or a `segment_id`.')
  }
}

/**
 * Checks that a domain may send, except for ignored faults, whose mail waits until they are over: `pauses` are faults that do not
 * concern the domain itself; `temporary` includes a domain that is not verified at the moment.
 *
 * @throws {ApiError} 422; another code if sending is paused or not configured
 */
export async function requireSender(
  tx: Tx,
  { account_id, domain }: { account_id: string; domain: string },
  ignored: 'none' | 'pauses' | 'temporary',
): Promise<void> {
  const { fault, detail } = await judgeSender(tx, { account_id, domain })
  if (fault === null || (ignored !== 'none' && RequestFault.safeParse(fault).success)) return
  if (ignored === 'temporary' && mayPass(fault, detail)) return
  throw faultError({ fault, detail: detail ?? {} }, { domain, topic_id: null, refusal: null } as Draft)
}

/** Checks that recipients can open the links to unsubscribe. `transport`: that of the domain. @throws {ApiError} 422 */
export function requirePublicUrl(config: CampaignConfig, transport: string | null): void {
  if ((transport ?? defaultTransport(config)) === 'capture' || isPublicHttps(config.BASE_URL)) return
  fail(
    `Recipients could not open the links to unsubscribe: BASE_URL is ${config.BASE_URL}, and must be a public \`https\` URL.`,
  )
}

/**
 * Rejects a campaign without recipients, or with a number of them that is more than 10 % off `expected`. @throws
 * {ApiError} 422
 */
export async function requireRecipients(db: Queryable, addressed: Addressed, expected: number | null): Promise<void> {
  if (expected === null) {
    if ((await countRecipients(db, addressed, 1)) === 0) fail('Nobody would get the campaign.')
    return
  }
  const most = Math.floor(expected * 1.1)
  const count = await countRecipients(db, addressed, most + 1)
  if (count === 0) fail('Nobody would get the campaign.')
  if (count > most)
    fail(`More than ${most} contacts would get the campaign, not the ${expected} of \`expected_recipients\`.`)
  if (count < expected * 0.9) {
    fail(`Only ${count} contacts would get the campaign, not the ${expected} of \`expected_recipients\`.`)
  }
}

function fail(message: string): never {
  throw new ApiError('validation_error', message)
}
