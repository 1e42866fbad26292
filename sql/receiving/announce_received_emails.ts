import { type Queryable, sql } from '#sql/pool.ts'
import type { ReceivedEmailId } from './received_emails.ts'

/**
 * Announces emails. Must be called once a message is parsed and linked to the email that it replies to
 * (announce_received_emails.sql).
 */
export async function announceReceivedEmails(tx: Queryable, emails: ReceivedEmailId[]): Promise<void> {
  await tx.run(sql.unsafe`SELECT announce_received_emails(${JSON.stringify(emails)}::json)`)
}
