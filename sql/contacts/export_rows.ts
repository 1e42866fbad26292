import { z } from 'zod'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** A contact as it is exported: `properties` by `stored_as`, without fallback values. */
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
    SELECT id, email, first_name, last_name, unsubscribed, do_not_track, timezone, created_at, properties FROM contacts
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND ${where} ORDER BY id LIMIT ${limit}
  `)
}
