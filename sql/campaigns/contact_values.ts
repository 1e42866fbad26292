import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const Properties = z.record(z.string(), z.union([z.string(), z.number()]))

/** The values of a contact for the placeholders of a campaign; all of them are null if there is no contact. */
export const ContactValues = z.object({
  email: z.string().nullable(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  /** Properties of the contact. */
  properties: Properties.nullable(),
  /** Fallbacks of the account. */
  property_fallbacks: Properties,
})
export type ContactValues = z.infer<typeof ContactValues>

/**
 * Returns the select list of a query from `contacts c`, which may be the missing row of an outer join. `keys`: the
 * properties that are needed; an account may have a thousand long ones.
 */
export function contactValues(account_id: string, keys: string[]) {
  const isNeeded = sql.fragment`p.deleted_at IS NULL AND p.key = ANY (${sql.array(keys, 'text')})`
  return sql.fragment`c.email, c.first_name, c.last_name,
    (
      SELECT jsonb_object_agg(p.key, c.properties -> p.stored_as) FROM contact_properties p
      WHERE p.account_id = c.account_id AND ${isNeeded} AND c.properties ? p.stored_as
    ) AS properties, (
      SELECT coalesce(jsonb_object_agg(p.key, p.fallback_value), '{}') FROM contact_properties p
      WHERE p.account_id = ${account_id} AND ${isNeeded} AND p.fallback_value IS NOT NULL
    ) AS property_fallbacks`
}

/** Reads the values of the contact of a domain with an address in lower case, if there is one. */
export async function readContactValues(
  db: Queryable,
  { account_id, domain_id, email }: { account_id: string; domain_id: string; email: string },
  keys: string[],
): Promise<ContactValues> {
  return db.one(sql.type(ContactValues)`
    SELECT ${contactValues(account_id, keys)} FROM (VALUES (1)) AS one
    LEFT JOIN contact_by_address(${account_id}, ${domain_id}, ${email}) c ON true
  `)
}
