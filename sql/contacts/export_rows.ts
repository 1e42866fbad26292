import { z } from 'zod'
import { Subscription } from '#lib/contacts/new_contact.ts'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** A contact as it is exported: `properties` by `stored_as`, without fallback values; `topics`: its own choices by the ids of topics. */
const ExportedContact = z.object({
  id: z.string(),
  email: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  unsubscribed: z.boolean(),
  do_not_track: z.boolean(),
  timezone: z.string().nullable(),
  created_at: z.date(),
  properties: z.record(z.string(), PropertyValue),
  topics: z.record(z.string(), Subscription),
})
export type ExportedContact = z.infer<typeof ExportedContact>

/** Lists the next contacts of a domain after an id, oldest first. */
export async function listContactsToExport(
  db: Queryable,
  { account_id, domain_id }: { account_id: string; domain_id: string },
  after: string | null,
  limit: number,
): Promise<ExportedContact[]> {
  const where = after === null ? sql.fragment`true` : sql.fragment`id > ${after}`
  return db.any(sql.type(ExportedContact)`
    SELECT id, email, first_name, last_name, unsubscribed, do_not_track, timezone, created_at, properties, (
        SELECT coalesce(jsonb_object_agg(t.topic_id, t.subscription), '{}') FROM contact_topics t
        WHERE t.account_id = c.account_id AND t.contact_id = c.id
      ) AS topics
    FROM contacts c
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND ${where} ORDER BY id LIMIT ${limit}
  `)
}
