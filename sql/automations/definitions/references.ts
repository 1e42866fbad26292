import { z } from 'zod'
import { PropertyType } from '#lib/contacts/new_property.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** Returns the name of a domain and locks it against deletion until the transaction ends; null if it does not exist. */
export async function lockOwnDomain(tx: Tx, account_id: string, id: string): Promise<string | null> {
  const found = await tx.maybeOne(sql.type(z.object({ name: z.string() }))`
    SELECT name FROM domains WHERE account_id = ${account_id} AND id = ${id} FOR KEY SHARE
  `)
  return found?.name ?? null
}

const NamedTemplate = z.object({
  id: z.string(),
  alias: z.string().nullable(),
  is_published: z.boolean(),
  sender: z.string().nullable(),
  subject: z.string().nullable(),
})
/** A template with the sender and the subject of its published version. */
export type NamedTemplate = z.infer<typeof NamedTemplate>

/** Returns the templates with these ids or aliases, and locks them against deletion until the transaction ends. */
export async function lockTemplates(tx: Tx, account_id: string, refs: string[]): Promise<NamedTemplate[]> {
  return tx.any(sql.type(NamedTemplate)`
    SELECT t.id, t.alias, t.published_number IS NOT NULL AS is_published, v.sender, v.subject
    FROM templates t
    LEFT JOIN template_versions v
      ON v.account_id = t.account_id AND v.template_id = t.id AND v.number = t.published_number
    WHERE t.account_id = ${account_id}
      AND (t.id::text = ANY (${sql.array(refs, 'text')}) OR t.alias = ANY (${sql.array(refs, 'text')}))
    ORDER BY t.id FOR KEY SHARE OF t
  `)
}

const Placed = z.object({ id: z.string(), domain_id: z.string().nullable() })
/** A segment or a topic. `domain_id`: the domain that it belongs to; null: all domains. */
export type Placed = z.infer<typeof Placed>

/** Returns which of these topics or segments exist, and locks them against deletion until the transaction ends. */
export async function lockTopicsOrSegments(
  tx: Tx,
  table: 'topics' | 'segments',
  account_id: string,
  ids: string[],
): Promise<Placed[]> {
  return tx.any(sql.type(Placed)`
    SELECT id, domain_id FROM ${sql.identifier([table])} WHERE account_id = ${account_id} AND id = ANY (${sql.array(ids, 'uuid')})
    ORDER BY id FOR KEY SHARE
  `)
}

const Typed = z.object({ key: z.string(), type: PropertyType })

/** Returns the types of the contact properties with these keys. */
export async function typesOfProperties(
  db: Queryable,
  account_id: string,
  keys: string[],
): Promise<Map<string, PropertyType>> {
  const rows = await db.any(sql.type(Typed)`
    SELECT key, type FROM contact_properties
    WHERE account_id = ${account_id} AND key = ANY (${sql.array(keys, 'text')}) AND deleted_at IS NULL
  `)
  return new Map(rows.map(({ key, type }) => [key, type]))
}
