import { sql, type Tx } from '#sql/pool.ts'
import type { CampaignId } from './campaigns.ts'

export type CampaignEvent = 'campaign.sent' | 'campaign.canceled' | 'campaign.paused' | 'campaign.failed'

/**
 * Announces campaigns to webhooks. Must be called after their changes, in the same transaction
 * (announce_campaigns.sql).
 */
export async function announceCampaigns(tx: Tx, type: CampaignEvent, campaigns: CampaignId[]): Promise<void> {
  const accounts = campaigns.map(({ account_id }) => account_id)
  const ids = campaigns.map(({ id }) => id)
  await tx.run(sql.unsafe`
    SELECT announce_campaigns(${type}, ${sql.array(accounts, 'uuid')}, ${sql.array(ids, 'uuid')})
  `)
}
