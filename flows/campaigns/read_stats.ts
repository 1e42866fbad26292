import { z } from 'zod'
import { orNotFound } from '#lib/errors.ts'
import { Rates, ratesOf } from '#lib/sending/metrics/rates.ts'
import { CampaignStatus } from '#sql/campaigns/campaign_records.ts'
import { findCampaign } from '#sql/campaigns/campaigns.ts'
import { readFigures } from '#sql/campaigns/counts.ts'
import { listTopLinks } from '#sql/campaigns/report/links.ts'
import type { RunRef } from '#sql/campaigns/report/run_of.ts'
import type { Queryable } from '#sql/pool.ts'

/** Links that the stats list. */
const TOP = 20

const TopLink = z
  .object({
    url: z.string().describe('The URL.'),
    clicks: z.int().describe('Clicks by people.'),
    unique_clicks: z.int().describe('Recipients who clicked it.'),
  })
  .meta({ id: 'TopLink' })

/** Figures of a campaign. */
export const CampaignStats = z
  .object({
    object: z.literal('campaign_stats'),
    campaign_id: z.string().describe('Id of the campaign.'),
    status: CampaignStatus.describe('Its status.'),
    recipients: z.int().describe('`delivered`, `bounced`, `failed`, `suppressed`, `canceled` and `pending` together.'),
    sent: z.int().describe('A mail server accepted it.'),
    delivered: z.int().describe('Accepted, and no bounce came after that.'),
    delivery_delayed: z.int().describe('A mail server asked to try again later, once or more.'),
    bounced: z.int().describe('The address does not exist, or refuses mail.'),
    complained: z.int().describe('Recipients who reported it as spam. They also count as delivered.'),
    failed: z.int().describe('Could not be delivered for another reason.'),
    suppressed: z.int().describe('Contacts who were left out. The list of recipients has the reasons.'),
    canceled: z.int().describe('Canceled before it was sent.'),
    pending: z.int().describe('Still to be sent, or in doubt.'),
    in_doubt: z
      .int()
      .describe('Emails in doubt: the connection broke at the end of the message, so it may have arrived.'),
    opened: z.int().describe('Opens by people, and by proxies that load images for them.'),
    unique_opened: z.int().describe('Recipients who opened it.'),
    mpp_opened: z.int().describe('Recipients whose images only Apple Mail Privacy Protection fetched.'),
    machine_opened: z.int().describe('Recipients whose images only a machine fetched.'),
    clicked: z.int().describe('Clicks by people.'),
    unique_clicked: z.int().describe('Recipients who clicked a link.'),
    machine_clicked: z.int().describe('Recipients whose links only a machine followed.'),
    replied: z.int().describe('Recipients who replied.'),
    unsubscribed: z.int().describe('Recipients who unsubscribed with its links.'),
    ...Rates.shape,
    top_links: z.array(TopLink).describe('The 20 links that were clicked most.'),
  })
  .meta({ id: 'CampaignStats' })
export type CampaignStats = z.infer<typeof CampaignStats>

/** @throws {ApiError} 404 */
export async function readStats(db: Queryable, campaign: RunRef): Promise<CampaignStats> {
  const { status } = orNotFound('Campaign', await findCampaign(db, campaign))
  const counted = await readFigures(db, {
    ...{ account_id: campaign.account_id, campaign_id: campaign.id, run: campaign.run },
  })
  const links = await listTopLinks(db, campaign, TOP)
  const figure = (name: string) => counted[name] ?? 0
  const suppressed = figure('suppressed') + figure('excluded')
  const [recipients, sent, delivered] = [figure('recipients'), figure('sent'), figure('delivered')]
  const counts = {
    bounced: figure('bounced'),
    complained: figure('complained'),
    unique_opened: figure('unique_opened'),
    unique_clicked: figure('unique_clicked'),
    unsubscribed: figure('unsubscribed'),
  }
  const done = delivered + counts.bounced + figure('failed') + suppressed + figure('canceled')
  return {
    object: 'campaign_stats',
    campaign_id: campaign.id,
    status,
    recipients,
    sent,
    delivered,
    delivery_delayed: figure('delayed'),
    bounced: counts.bounced,
    complained: counts.complained,
    failed: figure('failed'),
    suppressed,
    canceled: figure('canceled'),
    pending: recipients - done,
    in_doubt: figure('in_doubt'),
    opened: figure('opened'),
    unique_opened: counts.unique_opened,
    mpp_opened: figure('mpp_opened'),
    machine_opened: figure('machine_opened'),
    clicked: figure('clicked'),
    unique_clicked: counts.unique_clicked,
    machine_clicked: figure('machine_clicked'),
    replied: figure('replied'),
    unsubscribed: counts.unsubscribed,
    ...ratesOf({ ...counts, sent, delivered }),
    top_links: links.map(({ url, clicks, unique_clicks }) => ({ url, clicks, unique_clicks })),
  }
}
