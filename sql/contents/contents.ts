import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** The parts as they were given, or from the version of a template. */
export const Source = z.object({ html: z.string().nullable(), text: z.string().nullable() })

/** An email's parts in storage: `html` and `text` are null where `content_id` refers to a shared source. */
export const StoredParts = Source.extend({
  content_id: z.string().nullable(),
  variables: z.record(z.string(), z.string()).nullable(),
  /** Version of the code that renders the parts from the source; null: the parts are the source itself. */
  renderer: z.int().nullable(),
})
export type StoredParts = z.infer<typeof StoredParts>

/** A source that several emails of an account refer to. */
export type NewContent = { id: string; html: string | null; text: string | null }

/**
 * Stores contents that are not stored yet and marks all of them as used, so that they are not purged before emails
 * refer to them. Sorts them, since two statements in different order would deadlock.
 */
export async function storeContents(db: Queryable, account_id: string, contents: NewContent[]): Promise<void> {
  const recent = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT id FROM contents WHERE account_id = ${account_id} AND used_at > now() - interval '1 hour' AND id = ANY(${sql.array(
      contents.map(({ id }) => id),
      'uuid',
    )})
  `)
  const known = new Set(recent.map(({ id }) => id))
  const others = contents.filter(({ id }) => !known.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1))
  if (others.length === 0) return
  await db.run(sql.unsafe`
    INSERT INTO contents (account_id, id, html, text)
    SELECT ${account_id}, c.id, c.html, c.text
    FROM json_to_recordset(${JSON.stringify(others)}::json) AS c(id uuid, html text, text text) ORDER BY c.id
    ON CONFLICT (account_id, id) DO UPDATE SET used_at = now()
  `)
}

export async function findContent(
  db: Queryable,
  account_id: string,
  id: string,
): Promise<z.infer<typeof Source> | null> {
  return db.maybeOne(sql.prepared('find_content', Source)`
    SELECT html, text FROM contents WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Deletes contents that were not used for two days and to which no email or campaign refers; returns how many. */
export async function deleteUnusedContents(db: Queryable, limit: number): Promise<number> {
  return db.run(sql.unsafe`
    DELETE FROM contents WHERE (account_id, id) IN (
      SELECT c.account_id, c.id FROM contents c
      WHERE c.used_at < now() - interval '2 days' AND NOT EXISTS (
        SELECT FROM email_contents e WHERE e.account_id = c.account_id AND e.content_id = c.id
      ) AND NOT EXISTS (
        SELECT FROM campaigns g WHERE g.account_id = c.account_id AND g.content_id = c.id
      ) AND NOT EXISTS (
        SELECT FROM campaign_variants v WHERE v.account_id = c.account_id AND v.content_id = c.id
      )
      LIMIT ${limit} FOR UPDATE OF c SKIP LOCKED
    )
  `)
}
