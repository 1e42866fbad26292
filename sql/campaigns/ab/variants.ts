import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'

/** A variant as it was when the campaign was sent. `variant`: from 1, in the order of the test. */
const CampaignVariant = z.object({
  variant: z.int(),
  key: z.string(),
  sender: z.string(),
  subject: z.string(),
  content_id: z.string(),
})
export type CampaignVariant = z.infer<typeof CampaignVariant>

export async function insertVariants(
  tx: Tx,
  { account_id, id }: CampaignId,
  variants: CampaignVariant[],
): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO campaign_variants (account_id, campaign_id, variant, key, sender, subject, content_id)
    SELECT ${account_id}, ${id}, v.variant, v.key, v.sender, v.subject, v.content_id
    FROM json_to_recordset(${JSON.stringify(variants)}::json)
      AS v(variant smallint, key text, sender text, subject text, content_id uuid)
  `)
}

/** Lists variants in their order; empty without an A/B test, or before the campaign is sent. */
export async function listVariants(db: Queryable, { account_id, id }: CampaignId): Promise<CampaignVariant[]> {
  return db.any(sql.type(CampaignVariant)`
    SELECT variant, key, sender, subject, content_id FROM campaign_variants
    WHERE account_id = ${account_id} AND campaign_id = ${id} ORDER BY variant
  `)
}

const Counted = z.object({ variant: z.int(), name: z.string(), count: z.int() })

/** The figures of variants by number and name; figures that were never counted are missing. */
export type VariantFiguresByNumber = Map<number, Record<string, number>>

/** Reads the figures of run 1, which has the test. */
export async function readVariantFigures(
  db: Queryable,
  { account_id, id }: CampaignId,
): Promise<VariantFiguresByNumber> {
  const rows = await db.any(sql.type(Counted)`
    SELECT variant, name, sum(count)::bigint AS count FROM campaign_counts
    WHERE account_id = ${account_id} AND campaign_id = ${id} AND run = 1 GROUP BY variant, name
  `)
  const byVariant = Map.groupBy(rows, ({ variant }) => variant)
  return new Map(
    [...byVariant].map(([variant, figures]) => [
      variant,
      Object.fromEntries(figures.map(({ name, count }) => [name, count])),
    ]),
  )
}
