import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** An address on a domain, in lower case. */
export type Person = { account_id: string; domain_id: string; email: string }

/** `contact_ids`: deleted contacts that had the address. `last`: the last row that was read; null at the end. */
export type Slice<Place> = { contact_ids: string[]; last: Place | null }

const Recipient = z.object({ campaign_id: z.string(), contact_id: z.string(), run: z.int() })
export type RecipientPlace = z.infer<typeof Recipient>

const Recipients = z.object({ contact_ids: z.array(z.string()), last: Recipient.nullable() })

/** Clears the address of deleted contacts among the next `limit` recipients of the account's campaigns. Figures are kept. */
export async function forgetFormerRecipients(
  db: Queryable,
  { account_id, domain_id, email }: Person,
  after: RecipientPlace | null,
  limit: number,
): Promise<Slice<RecipientPlace>> {
  const next = after
    ? sql.fragment`(r.campaign_id, r.contact_id, r.run) > (${after.campaign_id}, ${after.contact_id}, ${after.run})`
    : sql.fragment`true`
  return db.one(sql.type(Recipients)`
    WITH slice AS MATERIALIZED (
      SELECT r.account_id, r.campaign_id, r.contact_id, r.run, r.email FROM campaign_recipients r
      WHERE r.account_id = ${account_id} AND ${next} ORDER BY r.campaign_id, r.contact_id, r.run LIMIT ${limit}
    ), found AS MATERIALIZED (
      SELECT s.* FROM slice s JOIN campaigns g ON g.account_id = s.account_id AND g.id = s.campaign_id
      WHERE s.email = ${email} AND g.domain_id = ${domain_id}
        AND NOT EXISTS (SELECT FROM contacts c WHERE c.account_id = s.account_id AND c.id = s.contact_id)
    ), cleared AS (
      UPDATE campaign_recipients r SET email = NULL FROM found f
      WHERE r.account_id = f.account_id AND r.campaign_id = f.campaign_id AND r.contact_id = f.contact_id AND r.run = f.run
    )
    SELECT ARRAY(SELECT DISTINCT contact_id FROM found) AS contact_ids, (
      SELECT jsonb_build_object('campaign_id', campaign_id, 'contact_id', contact_id, 'run', run)
      FROM slice ORDER BY campaign_id DESC, contact_id DESC, run DESC LIMIT 1
    ) AS last
  `)
}

const Runs = z.object({ contact_ids: z.array(z.string()), last: z.string().nullable() })

/** Finds deleted contacts with the address among the next `limit` automation runs of the account. */
export async function findFormerContacts(
  db: Queryable,
  { account_id, domain_id, email }: Person,
  after: string | null,
  limit: number,
): Promise<Slice<string>> {
  const next = after === null ? sql.fragment`true` : sql.fragment`r.id > ${after}`
  return db.one(sql.type(Runs)`
    WITH slice AS MATERIALIZED (
      SELECT r.account_id, r.id, r.domain_id, r.contact_id, r.contact_email FROM automation_runs r
      WHERE r.account_id = ${account_id} AND ${next} ORDER BY r.id LIMIT ${limit}
    )
    SELECT ARRAY(
      SELECT DISTINCT s.contact_id FROM slice s
      WHERE s.contact_email = ${email} AND s.domain_id = ${domain_id}
        AND NOT EXISTS (SELECT FROM contacts c WHERE c.account_id = s.account_id AND c.id = s.contact_id)
    ) AS contact_ids, (SELECT id FROM slice ORDER BY id DESC LIMIT 1) AS last
  `)
}
