import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'

const Sender = z.object({ domain_id: z.string(), postal_address: z.string().nullable() })

/** Returns the postal address of each of these domains, or else of its account, by the id of the domain. */
export async function listPostalAddresses(
  tx: Tx,
  domains: { account_id: string; domain_id: string }[],
): Promise<Map<string, string | null>> {
  const rows = await tx.any(sql.type(Sender)`
    SELECT d.id AS domain_id, coalesce(d.postal_address, a.postal_address) AS postal_address
    FROM (
      SELECT DISTINCT account_id, domain_id FROM json_to_recordset(${JSON.stringify(domains)}::json)
        AS g(account_id uuid, domain_id uuid)
    ) w
    JOIN domains d ON d.account_id = w.account_id AND d.id = w.domain_id JOIN accounts a ON a.id = d.account_id
  `)
  return new Map(rows.map(({ domain_id, postal_address }) => [domain_id, postal_address]))
}
