import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Returns true if a domain has contacts. */
export async function hasContacts(db: Queryable, account_id: string, domain_id: string): Promise<boolean> {
  const { found } = await db.one(sql.type(z.object({ found: z.boolean() }))`
    SELECT EXISTS (SELECT FROM contacts WHERE account_id = ${account_id} AND domain_id = ${domain_id}) AS found
  `)
  return found
}

/** Lists domains that have a contact with this address, at most two, which are enough to see that it is ambiguous. */
export async function listDomainsOfAddress(db: Queryable, account_id: string, email: string): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT d.id FROM domains d
    WHERE d.account_id = ${account_id} AND EXISTS (
      SELECT FROM contacts c WHERE c.account_id = d.account_id AND c.domain_id = d.id AND c.email = ${email})
    LIMIT 2
  `)
  return rows.map(({ id }) => id)
}
