import { hash } from 'node:crypto'
import { newId } from '../lib/ids.ts'
import { addJob } from '../sql/jobs.ts'
import type { Pool } from '../sql/pool.ts'
import { insertReceivedEmail, type SmtpClient } from '../sql/received_emails.ts'
import type { Blobs } from './blobs.ts'

/** A recipient of an envelope, and whose it is. */
export type ReceivingParty = { account_id: string; domain_id: string; recipient: string }

export type Received = { mail_from: string; recipients: ReceivingParty[]; client: SmtpClient; raw: Buffer }

/** Stores a message for every account it is for, with the job that reads it: once this has resolved, the sender is told. */
export async function receiveEmail({ pool, blobs }: { pool: Pool; blobs: Blobs }, received: Received): Promise<void> {
  const { mail_from, recipients, client, raw } = received
  const sha256 = hash('sha256', raw)
  const accounts = Map.groupBy(recipients, recipient => recipient.account_id)
  const emails = await Promise.all(
    Array.from(accounts, async ([account_id, parties]) => ({
      account_id,
      id: newId(),
      domain_id: (parties[0] as ReceivingParty).domain_id,
      received_for: parties.map(party => party.recipient),
      ...{ mail_from, client, sha256, size: raw.length },
      raw_blob_id: (await blobs.put(account_id, raw, sha256)).id,
    })),
  )
  await pool.transaction(async tx => {
    for (const email of emails) await insertReceivedEmail(tx, email)
    await addJob(tx, 'parse_email', { ids: emails.map(({ account_id, id }) => ({ account_id, id })) })
  })
}
