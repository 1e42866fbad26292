import { z } from 'zod'
import type { UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { type Queryable, sql } from '#sql/pool.ts'

const PreferredTopic = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  is_public: z.boolean(),
  /** The person's own choice, or the default of the topic. */
  is_subscribed: z.boolean(),
})
export type PreferredTopic = z.infer<typeof PreferredTopic>

/**
 * Preferences of an address for mail of a domain. `contact_id` is null for an address without a contact; its topics are
 * then only those that it gets unless it opts out. An opt-out from everything overrides the topics.
 */
export const Preferences = z.object({
  domain: z.string(),
  brand_name: z.string().nullable(),
  brand_color: z.string().nullable(),
  brand_logo_url: z.string().nullable(),
  contact_id: z.string().nullable(),
  is_unsubscribed: z.boolean(),
  /** True if this address has reported an email of the account as spam. */
  has_complained: z.boolean(),
  topics: z.array(PreferredTopic),
})
export type Preferences = z.infer<typeof Preferences>

/** The address in a token, with its domain. */
export type Person = Pick<UnsubscribeToken, 'account_id' | 'domain_id' | 'address'>

/** Returns the preferences of an address; null if the domain no longer exists. */
export async function findPreferences(
  db: Queryable,
  { account_id, domain_id, address }: Person,
): Promise<Preferences | null> {
  return db.maybeOne(sql.prepared('find_preferences', Preferences)`
    WITH optouts AS MATERIALIZED (
      SELECT topic_id FROM contact_optouts
      WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND email_hash = sha256(convert_to(${address}, 'UTF8'))
    )
    SELECT d.name AS domain, coalesce(d.brand_name, a.brand_name) AS brand_name,
      coalesce(d.brand_color, a.brand_color) AS brand_color, coalesce(d.brand_logo_url, a.brand_logo_url) AS brand_logo_url,
      c.id AS contact_id,
      coalesce(c.unsubscribed, EXISTS (SELECT FROM optouts WHERE topic_id = everything())) AS is_unsubscribed,
      EXISTS (
        SELECT FROM suppressions s
        WHERE s.account_id = ${account_id} AND s.address = ${address} AND s.reason = 'complaint'
          AND (s.expires_at IS NULL OR s.expires_at > now())
      ) AS has_complained,
      (
        SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name, 'description', t.description,
          'is_public', t.visibility = 'public', 'is_subscribed', CASE
            WHEN c.id IS NULL THEN t.id NOT IN (SELECT topic_id FROM optouts)
            ELSE coalesce(o.subscription, t.default_subscription) = 'opt_in' END) ORDER BY lower(t.name), t.id), '[]')
        FROM topics t
        LEFT JOIN contact_topics o ON o.account_id = t.account_id AND o.contact_id = c.id AND o.topic_id = t.id
        WHERE t.account_id = ${account_id} AND (t.domain_id IS NULL OR t.domain_id = ${domain_id})
          AND (c.id IS NOT NULL OR t.default_subscription = 'opt_in')
      ) AS topics
    FROM domains d
    JOIN accounts a ON a.id = d.account_id
    LEFT JOIN LATERAL contact_by_address(d.account_id, d.id, ${address}) c ON true
    WHERE d.account_id = ${account_id} AND d.id = ${domain_id}
  `)
}
