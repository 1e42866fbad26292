import { type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { ListedEmail } from '#sql/sending/email_records.ts'
import { listedColumns } from '#sql/sending/emails.ts'

/** Lists emails with a recipient in doubt, newest first. There are few at any time, and they have their own index. */
export async function listDoubtedEmails(
  db: Queryable,
  account_id: string,
  position: Position,
): Promise<Page<ListedEmail>> {
  return readHeavyPage(db, position, {
    type: ListedEmail,
    ids: (where, order, limit) => sql.fragment`
      SELECT id FROM (
        SELECT DISTINCT email_id AS id FROM deliveries WHERE account_id = ${account_id} AND state = 'in_doubt'
      ) doubted
      WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    `,
    row: id => sql.fragment`
      SELECT ${listedColumns} FROM emails e WHERE e.account_id = ${account_id} AND e.id = ${id}
    `,
  })
}
