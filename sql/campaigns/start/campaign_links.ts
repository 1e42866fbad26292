import { sql, type Tx } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'

/** Stores the tracked links of a variant of a run (0: without an A/B test), by their numbers in its html. */
export async function insertCampaignLinks(
  tx: Tx,
  { account_id, id, run }: CampaignId & { run: number },
  variant: number,
  links: { link: number; url: string }[],
): Promise<void> {
  if (links.length === 0) return
  await tx.run(sql.unsafe`
    INSERT INTO campaign_links (account_id, campaign_id, run, variant, link, url)
    SELECT ${account_id}, ${id}, ${run}, ${variant}, l.link, l.url
    FROM json_to_recordset(${JSON.stringify(links)}::json) AS l(link smallint, url text)
  `)
}
