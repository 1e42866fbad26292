import { z } from 'zod'
import { PropertyType, PropertyValue } from '#lib/contacts/new_property.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** A property that contacts of an account can have. */
export const ContactProperty = z
  .object({
    object: z.literal('contact_property'),
    id: z.string(),
    key: z.string().describe('Name of the property.'),
    type: PropertyType.describe('Type of its values.'),
    fallback_value: PropertyValue.nullable().describe('Value for contacts that have none; null: none.'),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'ContactProperty' })
export type ContactProperty = z.infer<typeof ContactProperty>

const columns = sql.fragment`
  'contact_property' AS object, id, key, type, fallback_value, created_at, updated_at
`

export async function listProperties(
  db: Queryable,
  account_id: string,
  position: Position,
): Promise<Page<ContactProperty>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ContactProperty)`
      SELECT ${columns} FROM contact_properties
      WHERE account_id = ${account_id} AND deleted_at IS NULL AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findProperty(db: Queryable, account_id: string, id: string): Promise<ContactProperty | null> {
  return db.maybeOne(sql.type(ContactProperty)`
    SELECT ${columns} FROM contact_properties WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NULL
  `)
}

export type NewPropertyRow = Pick<ContactProperty, 'id' | 'key' | 'type' | 'fallback_value'> & { account_id: string }

/**
 * Adds a property. If values of a deleted property with the same key may still exist, the new one stores its values
 * under another name.
 */
export async function insertProperty(db: Queryable, row: NewPropertyRow): Promise<ContactProperty> {
  return db.one(sql.type(ContactProperty)`
    INSERT INTO contact_properties (account_id, id, key, stored_as, type, fallback_value)
    SELECT ${row.account_id}, ${row.id}, ${row.key},
      CASE WHEN EXISTS (SELECT FROM contact_properties WHERE account_id = ${row.account_id} AND key = ${row.key}
        AND deleted_at IS NOT NULL) THEN ${`${row.key} ${row.id}`} ELSE ${row.key} END,
      ${row.type}, nullif(${JSON.stringify(row.fallback_value)}::jsonb, 'null')
    RETURNING ${columns}
  `)
}

/** Changes the fallback value; returns the number of changed rows (0 or 1). */
export async function updateFallback(
  db: Queryable,
  account_id: string,
  id: string,
  fallback_value: PropertyValue | null,
): Promise<number> {
  return db.run(sql.unsafe`
    UPDATE contact_properties SET fallback_value = nullif(${JSON.stringify(fallback_value)}::jsonb, 'null'), updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NULL
  `)
}

/** Hides a property; its values are removed by a job (tasks/remove_leftovers.ts). */
export async function markPropertyDeleted(tx: Tx, account_id: string, id: string): Promise<number> {
  return tx.run(sql.unsafe`
    UPDATE contact_properties SET deleted_at = now()
    WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NULL
  `)
}

/** A property with the data to check and store its values. */
const StoredProperty = z.object({ key: z.string(), stored_as: z.string(), type: PropertyType })
export type StoredProperty = z.infer<typeof StoredProperty>

export async function listStoredProperties(db: Queryable, account_id: string): Promise<StoredProperty[]> {
  return db.any(sql.type(StoredProperty)`
    SELECT key, stored_as, type FROM contact_properties WHERE account_id = ${account_id} AND deleted_at IS NULL
  `)
}

/** Lists the keys of properties that have a fallback value. */
export async function listFallbackKeys(db: Queryable, account_id: string): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ key: z.string() }))`
    SELECT key FROM contact_properties
    WHERE account_id = ${account_id} AND deleted_at IS NULL AND fallback_value IS NOT NULL
  `)
  return rows.map(({ key }) => key)
}
