import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** An address on a domain, in lower case. */
export type Person = { account_id: string; domain_id: string; email: string }

const hashOf = (email: string) => sql.fragment`sha256(convert_to(${email}, 'UTF8'))`

/** Lists the ids of deleted contacts that had the address. */
export async function listFormerContacts(db: Queryable, { account_id, domain_id, email }: Person): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ contact_id: z.string() }))`
    SELECT contact_id FROM former_contacts
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND email_hash = ${hashOf(email)}
  `)
  return rows.map(({ contact_id }) => contact_id)
}

/** Forgets that a deleted contact had the address, once nothing else is left of it. */
export async function deleteFormerContact(
  tx: Tx,
  { account_id, domain_id, email }: Person,
  contact_id: string,
): Promise<void> {
  await tx.run(sql.unsafe`
    DELETE FROM former_contacts
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND email_hash = ${hashOf(email)}
      AND contact_id = ${contact_id}
  `)
}
