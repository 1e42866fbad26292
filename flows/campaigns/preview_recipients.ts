import { z } from 'zod'
import type { Config } from '#lib/config.ts'
import { orNotFound } from '#lib/errors.ts'
import { type CampaignId, findCampaign } from '#sql/campaigns/campaigns.ts'
import { countByReason, LeftOut } from '#sql/campaigns/count_recipients.ts'
import type { Queryable } from '#sql/pool.ts'
import { requireAddressed } from './check_campaign.ts'

const REASONS: Record<LeftOut, string> = {
  unsubscribed: 'They have unsubscribed from everything.',
  not_subscribed_to_topic: 'They are not subscribed to the topic.',
  suppressed: 'Their addresses are suppressed.',
  reserved_domain: 'Their domains are reserved for documentation and tests.',
  mailed_recently: 'They were sent a campaign within `skip_if_mailed_within_hours`.',
  unengaged: 'They have opened none of their campaigns for `exclude_unengaged_days`.',
}

/** Counts of the contacts who would get a campaign if it were sent now, and of those who would not. */
export const RecipientsPreview = z
  .object({
    object: z.literal('campaign_recipients_preview'),
    campaign_id: z.string().describe('Id of the campaign.'),
    contacts: z.int().describe('Contacts in its audience and its segment.'),
    recipients: z.int().describe('Contacts of these who would get it.'),
    left_out: z
      .object(
        Object.fromEntries(LeftOut.options.map(name => [name, z.int().describe(REASONS[name])])) as Record<
          LeftOut,
          z.ZodInt
        >,
      )
      .describe('Contacts who would not get it, by the first reason that applies.'),
  })
  .meta({ id: 'RecipientsPreview' })
export type RecipientsPreview = z.infer<typeof RecipientsPreview>

/** @throws {ApiError} 404; 422 if the campaign has neither an audience nor a segment */
export async function previewRecipients(
  db: Queryable,
  config: Pick<Config, 'SIMULATOR_DOMAIN'>,
  campaign: CampaignId,
): Promise<RecipientsPreview> {
  const found = orNotFound('Campaign', await findCampaign(db, campaign))
  const totals = await countByReason(db, await requireAddressed(db, config, campaign.account_id, found))
  const count = (reason: LeftOut | null) => totals.find(total => total.reason === reason)?.contacts ?? 0
  return {
    object: 'campaign_recipients_preview',
    campaign_id: campaign.id,
    contacts: totals.reduce((sum, { contacts }) => sum + contacts, 0),
    recipients: count(null),
    left_out: {
      unsubscribed: count('unsubscribed'),
      not_subscribed_to_topic: count('not_subscribed_to_topic'),
      suppressed: count('suppressed'),
      reserved_domain: count('reserved_domain'),
      mailed_recently: count('mailed_recently'),
      unengaged: count('unengaged'),
    },
  }
}
