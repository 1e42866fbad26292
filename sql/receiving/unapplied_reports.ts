import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { ReceivedEmailId } from './received_emails.ts'

/** Records why a received report had no effect. */
export async function insertUnappliedReport(
  tx: Tx,
  { account_id, id }: ReceivedEmailId,
  reason: string,
): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO unapplied_reports (account_id, received_email_id, reason) VALUES (${account_id}, ${id}, ${reason})
    ON CONFLICT (account_id, received_email_id) DO UPDATE SET reason = excluded.reason
  `)
}

/** Counts such reports of the last `days` days, up to `limit`. */
export async function countUnappliedReports(db: Queryable, days: number, limit: number): Promise<number> {
  const { count } = await db.one(sql.type(z.object({ count: z.int() }))`
    SELECT count(*)::int AS count FROM (
      SELECT FROM unapplied_reports WHERE created_at > now() - make_interval(days => ${days}) LIMIT ${limit}
    ) AS newest
  `)
  return count
}

const Listed = z.object({
  id: z.string(),
  created_at: z.date(),
  account: z.string(),
  mail_from: z.string(),
  subject: z.string().nullable(),
  reason: z.string(),
})

/** Lists such reports of all accounts for the operator, newest first. */
export async function listUnappliedReports(db: Queryable, limit: number): Promise<z.infer<typeof Listed>[]> {
  return db.any(sql.type(Listed)`
    SELECT u.received_email_id AS id, u.created_at, a.name AS account, r.mail_from, r.subject, u.reason
    FROM unapplied_reports u
    JOIN accounts a ON a.id = u.account_id
    JOIN received_emails r ON r.account_id = u.account_id AND r.id = u.received_email_id
    ORDER BY u.created_at DESC LIMIT ${limit}
  `)
}

const Raw = z.object({ account_id: z.string(), raw_blob_id: z.string().nullable() })

/** Returns the blob of the raw message of such a report; null if there is no such report. */
export async function findUnappliedReport(db: Queryable, id: string): Promise<z.infer<typeof Raw> | null> {
  return db.maybeOne(sql.type(Raw)`
    SELECT r.account_id, r.raw_blob_id
    FROM unapplied_reports u
    JOIN received_emails r ON r.account_id = u.account_id AND r.id = u.received_email_id
    WHERE u.received_email_id = ${id}
    LIMIT 1
  `)
}
