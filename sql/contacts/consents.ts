import { z } from 'zod'
import { newId } from '#lib/ids.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

const ConsentSource = z.enum(['api', 'import', 'page', 'one_click', 'email', 'complaint', 'soft_bounces', 'automation'])
type ConsentSource = z.infer<typeof ConsentSource>

/** The origin of an opt-in or opt-out: by which API key, import, email or automation, and from which address. */
export type ConsentOrigin = {
  how: ConsentSource
  source_id: string | null
  client_address: string | null
}

export type NewConsent = { email: string; topic_id: string | null; subscription: 'opt_in' | 'opt_out' }

/** Records opt-ins and opt-outs of addresses on a domain. */
export async function insertConsents(
  tx: Tx,
  { account_id, domain_id }: { account_id: string; domain_id: string },
  consents: NewConsent[],
  { how, source_id, client_address }: ConsentOrigin,
): Promise<void> {
  if (consents.length === 0) return
  const rows = consents.map(consent => ({ ...consent, id: newId() }))
  await tx.run(sql.unsafe`
    INSERT INTO contact_consents (account_id, domain_id, email_hash, id, topic_id, subscription, how, source_id, client_address)
    SELECT ${account_id}::uuid, ${domain_id}::uuid, sha256(convert_to(email, 'UTF8')), id, topic_id, subscription, ${how},
      ${source_id}::uuid, ${client_address}::inet
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS (id uuid, email text, topic_id uuid, subscription text)
  `)
}

/** Deletes the consents of an address. Only a hash that records its opt-out is kept. */
export async function eraseAllButOptOut(
  tx: Tx,
  { account_id, domain_id, email }: { account_id: string; domain_id: string; email: string },
  is_suppressed: boolean,
): Promise<void> {
  const hash = sql.fragment`sha256(convert_to(${email}, 'UTF8'))`
  await tx.run(sql.unsafe`
    DELETE FROM contact_consents WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND email_hash = ${hash}
  `)
  if (!is_suppressed) return
  await tx.run(sql.unsafe`
    INSERT INTO contact_optouts (account_id, domain_id, email_hash) VALUES (${account_id}, ${domain_id}, ${hash})
    ON CONFLICT DO NOTHING
  `)
}

/** An opt-in or opt-out as a contact shows it. */
export const Consent = z
  .object({
    topic_id: z.string().nullable().describe('Id of the topic; null: all campaigns.'),
    subscription: z.enum(['opt_in', 'opt_out']).describe('The choice.'),
    how: ConsentSource.describe('How the contact opted in or out.'),
    source_id: z.string().nullable().describe('Id of the API key, import, email or automation that it came from.'),
    client_address: z.string().nullable().describe('IP address that it came from.'),
    created_at: z.date(),
  })
  .meta({ id: 'Consent' })
export type Consent = z.infer<typeof Consent>

const MAX_CONSENTS = 100

/** Lists the newest 100 consents of an address, newest first. */
export async function listConsents(
  db: Queryable,
  { account_id, domain_id, email }: { account_id: string; domain_id: string; email: string },
): Promise<Consent[]> {
  return db.any(sql.type(Consent)`
    SELECT topic_id, subscription, how, source_id, host(client_address) AS client_address, created_at FROM contact_consents
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND email_hash = sha256(convert_to(${email}, 'UTF8'))
    ORDER BY id DESC LIMIT ${MAX_CONSENTS}
  `)
}
