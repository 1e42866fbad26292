import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const DomainId = z.object({ id: z.string() })

/** Returns the id of a domain of the account, given by id or name. */
export async function findOwnDomain(
  db: Queryable,
  account_id: string,
  ref: { id: string } | { name: string },
): Promise<string | null> {
  const found = await db.maybeOne(
    'id' in ref
      ? sql.prepared(
          'find_own_domain',
          DomainId,
        )`SELECT id FROM domains WHERE account_id = ${account_id} AND id = ${ref.id}`
      : sql.prepared('find_own_domain_by_name', DomainId)`
          SELECT id FROM domains WHERE account_id = ${account_id} AND name = ${ref.name}
        `,
  )
  return found?.id ?? null
}

/**
 * Returns the id of the only domain of the account, or null if it has none or several. `sandbox` counts only if it has
 * no other domain.
 */
export async function findOnlyDomain(db: Queryable, account_id: string, sandbox: string): Promise<string | null> {
  const domains = await db.any(sql.prepared('find_only_domain', DomainId)`
    SELECT id FROM domains d WHERE account_id = ${account_id} AND (name <> ${sandbox} OR NOT EXISTS (
      SELECT FROM domains o WHERE o.account_id = d.account_id AND o.name <> ${sandbox}))
    LIMIT 2
  `)
  return domains.length === 1 ? (domains[0]?.id as string) : null
}

/** Lists domains that have a contact with this address, at most two, which are enough to see that it is ambiguous. */
export async function listDomainsOfAddress(db: Queryable, account_id: string, email: string): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT d.id FROM domains d
    WHERE d.account_id = ${account_id} AND EXISTS (
      SELECT FROM contact_by_address(d.account_id, d.id, ${email}))
    LIMIT 2
  `)
  return rows.map(({ id }) => id)
}

/** Returns true if a domain has contacts. */
export async function hasContacts(db: Queryable, account_id: string, domain_id: string): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM contacts WHERE account_id = ${account_id} AND domain_id = ${domain_id}`)
}
