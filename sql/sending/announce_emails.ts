import type { EventType } from '#lib/webhooks/event_types.ts'
import { type Queryable, sql } from '#sql/pool.ts'

type Told<Type> = Type extends `email.${infer Event}` ? Event : never

/** `recipients`: recipients concerned, by default all. `more`: fields that are added to the email. */
export type EmailEvent = {
  account_id: string
  email_id: string
  type: Told<EventType>
  recipients?: string[]
  more?: object
}

/** Sends events about sent emails, each with the whole email (announce_emails.sql). */
export async function announceEmails(tx: Queryable, events: EmailEvent[]): Promise<void> {
  await tx.run(sql.unsafe`
    SELECT announce_emails(ARRAY(
      SELECT e FROM json_populate_recordset(NULL::email_event, ${JSON.stringify(events)}::json) AS e
    ))
  `)
}
