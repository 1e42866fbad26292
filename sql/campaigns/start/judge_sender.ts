import { z } from 'zod'
import { newId } from '#lib/ids.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Fault, FaultDetail } from '#sql/sending/accept/faults.ts'

const Judged = z.object({ fault: Fault.nullable(), detail: FaultDetail.nullable() })
export type Judged = z.infer<typeof Judged>

/**
 * Returns why no email can be accepted from a domain, or null. Judged like an email to one recipient, except quotas
 * (sql/sending/accept/judge_drafts.sql). Locks the domain against deletion until the transaction ends.
 */
export async function judgeSender(
  tx: Tx,
  { account_id, domain }: { account_id: string; domain: string },
): Promise<Judged> {
  const recipient = { id: newId(), recipient: `probe@${domain}`, destination: domain, visible_in: 'to' }
  const draft = {
    position: 0,
    account_id,
    id: newId(),
    domain,
    recipients: [{ ...recipient, reserved: false, simulated: true }],
  }
  return tx.one(sql.type(Judged)`
    SELECT j.faults[1] AS fault, explain_fault(j.faults[1], ${account_id}, ${domain}, 1) AS detail
    FROM judge_drafts(
      ARRAY(SELECT d FROM json_populate_recordset(NULL::draft, ${JSON.stringify([draft])}::json) AS d), '{}', '{}'
    ) AS j
  `)
}

const Sender = z.object({
  transport: z.enum(['capture', 'relay', 'direct']).nullable(),
  postal_address: z.string().nullable(),
})

/**
 * Returns the transport of a domain (null: MAIL_TRANSPORT) and the postal address of the domain, or else of the
 * account.
 */
export async function findSender(
  db: Queryable,
  account_id: string,
  domain_id: string,
): Promise<z.infer<typeof Sender>> {
  return db.one(sql.type(Sender)`
    SELECT d.transport, coalesce(d.postal_address, a.postal_address) AS postal_address
    FROM domains d JOIN accounts a ON a.id = d.account_id WHERE d.account_id = ${account_id} AND d.id = ${domain_id}
  `)
}
