import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import { Contact, contactColumns } from './contacts.ts'

/** A contact as webhooks are told of it (contract 12.4): `segment_ids` are those that it was added to by hand. */
const ContactEvent = Contact.omit({ object: true, audience_ids: true }).extend({
  audience_id: z.string(),
  segment_ids: z.array(z.string()),
})
export type ContactEvent = z.infer<typeof ContactEvent>

export async function listContactEvents(db: Queryable, account_id: string, ids: string[]): Promise<ContactEvent[]> {
  return db.any(sql.type(ContactEvent)`
    SELECT w.*, w.domain_id AS audience_id, ARRAY(
      SELECT segment_id FROM segment_members m WHERE m.account_id = ${account_id} AND m.contact_id = w.id ORDER BY segment_id
    ) AS segment_ids
    FROM (SELECT ${contactColumns} FROM contacts c WHERE c.account_id = ${account_id} AND c.id = ANY (${sql.array(ids, 'uuid')})) w
  `)
}
