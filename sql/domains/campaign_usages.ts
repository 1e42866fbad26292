import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Groups and templates that a campaign refers to. */
const columns = {
  audience: sql.fragment`audience_id`,
  segment: sql.fragment`segment_id`,
  topic: sql.fragment`topic_id`,
  template: sql.fragment`template_id`,
}
export type CampaignPart = keyof typeof columns

/**
 * Returns the name of a campaign that is scheduled or being sent and refers to a row, or null. Must be called after the
 * row was locked: a campaign that is being started holds a lock on it.
 */
export async function findCampaignUsing(
  db: Queryable,
  account_id: string,
  part: CampaignPart,
  id: string,
): Promise<string | null> {
  const found = await db.maybeOne(sql.type(z.object({ name: z.string() }))`
    SELECT coalesce(nullif(name, ''), id::text) AS name FROM campaigns
    WHERE account_id = ${account_id} AND ${columns[part]} = ${id} AND status IN ('scheduled', 'queued', 'testing', 'paused')
    ORDER BY id LIMIT 1
  `)
  return found?.name ?? null
}

/**
 * Returns the name of a campaign that is scheduled or being sent and whose mail names a contact property
 * (lib/templates/placeholders.ts), or null.
 */
export async function findCampaignWithProperty(
  db: Queryable,
  account_id: string,
  property_id: string,
): Promise<string | null> {
  const found = await db.maybeOne(sql.type(z.object({ name: z.string() }))`
    SELECT coalesce(nullif(g.name, ''), g.id::text) AS name FROM contact_properties p
    JOIN campaigns g ON g.account_id = p.account_id AND g.status IN ('scheduled', 'queued', 'testing', 'paused')
    WHERE p.account_id = ${account_id} AND p.id = ${property_id} AND p.deleted_at IS NULL AND EXISTS (
      SELECT FROM (
        SELECT unnest(ARRAY[g.subject, g.preview_text, g.html, g.text, g.ab_test::text]) AS part
        UNION ALL SELECT subject FROM campaign_runs WHERE account_id = g.account_id AND campaign_id = g.id AND finished_at IS NULL
        UNION ALL SELECT unnest(ARRAY[c.html, c.text]) FROM contents c
          WHERE c.account_id = g.account_id AND g.status <> 'scheduled' AND c.id IN (
            SELECT g.content_id UNION ALL
            SELECT v.content_id FROM campaign_variants v WHERE v.account_id = g.account_id AND v.campaign_id = g.id)
        UNION ALL SELECT unnest(ARRAY[v.subject, v.html, v.text]) FROM templates t
          JOIN template_versions v ON v.account_id = t.account_id AND v.template_id = t.id AND v.number = t.published_number
          WHERE t.account_id = g.account_id AND g.status = 'scheduled' AND t.id = g.template_id
      ) s WHERE s.part ~ ('\\{\\{\\s*(contact\\.|properties\\.)*' || p.key || '\\s*[|}]')
    )
    ORDER BY g.id LIMIT 1
  `)
  return found?.name ?? null
}

export async function hasCampaigns(db: Queryable, account_id: string, domain_id: string): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM campaigns WHERE account_id = ${account_id} AND domain_id = ${domain_id}`)
}
