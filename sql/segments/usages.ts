import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const Name = z.object({ name: z.string() })

/** Returns the name of a segment whose rules name another segment, or null. */
export async function findSegmentNaming(db: Queryable, account_id: string, segment_id: string): Promise<string | null> {
  const found = await db.maybeOne(sql.type(Name)`
    SELECT name FROM segments WHERE account_id = ${account_id} AND jsonb_path_exists(rules,
      'strict $.** ? (@.field == "segment" && @.value == $id)', jsonb_build_object('id', ${segment_id}::text), true)
    ORDER BY id LIMIT 1
  `)
  return found?.name ?? null
}

/** Returns the name of a segment that uses a contact property, or null. */
export async function findSegmentWithProperty(
  db: Queryable,
  account_id: string,
  property_id: string,
): Promise<string | null> {
  const found = await db.maybeOne(sql.type(Name)`
    SELECT s.name FROM segments s
    JOIN contact_properties p ON p.account_id = s.account_id AND p.id = ${property_id} AND p.deleted_at IS NULL
    WHERE s.account_id = ${account_id} AND (
      s.filter -> 'property_filters' @> jsonb_build_array(jsonb_build_object('key', p.key))
      OR jsonb_path_exists(s.rules, 'strict $.** ? (@.field == $field)',
        jsonb_build_object('field', 'properties.' || p.key), true))
    ORDER BY s.id LIMIT 1
  `)
  return found?.name ?? null
}
