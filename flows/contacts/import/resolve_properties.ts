import { createProperty } from '#flows/contacts/change_property.ts'
import type { MappedColumns, PropertyColumn } from '#lib/contacts/import/map_columns.ts'
import type { Column } from '#lib/contacts/import/options.ts'
import { NewProperty } from '#lib/contacts/new_property.ts'
import { ApiError } from '#lib/errors.ts'
import { listStoredProperties, type StoredProperty } from '#sql/contacts/properties.ts'
import type { Pool } from '#sql/pool.ts'

type Resolved = { columns: Column[]; ignored: string[] }

/** Looks up the properties of columns. Adds missing ones if `may_create`; otherwise ignores their columns. */
export async function resolveProperties(
  pool: Pool,
  account_id: string,
  { members, properties, ignored }: MappedColumns,
  may_create: boolean,
): Promise<Resolved> {
  const known = await listStoredProperties(pool, account_id)
  // All columns are checked before any property is added.
  const found = properties.map(column => findProperty(known, column, may_create))
  const resolved: Resolved = { columns: [...members], ignored: [...ignored] }
  for (const [n, column] of properties.entries()) {
    const { index, name } = column
    const property = found[n] ?? (may_create ? await addProperty(pool, account_id, column) : null)
    const isTaken = resolved.columns.some(
      ({ stored_as }) => stored_as !== undefined && stored_as === property?.stored_as,
    )
    if (property && !isTaken) {
      resolved.columns.push({ index, name, member: 'property', stored_as: property.stored_as, type: property.type })
    } else {
      resolved.ignored.push(name)
    }
  }
  return resolved
}

/** Returns the property of a column; null if there is none. @throws {ApiError} if the request names one that cannot be used or added */
function findProperty(known: StoredProperty[], column: PropertyColumn, may_create: boolean): StoredProperty | null {
  const { name, key, type, is_asked } = column
  const wanted = is_asked ? key : name
  const found = known.find(one => one.key === wanted) ?? known.find(one => one.key.toLowerCase() === key.toLowerCase())
  if (found && type !== null && found.type !== type) {
    throw invalid(`\`column_map.properties.${key}.type\` must be ${found.type}, which the property has.`)
  }
  if (is_asked && !found && !may_create) {
    throw invalid(`\`column_map.properties\` has the key ${shownKey(column)}, which is not a contact property.`)
  }
  if (is_asked && !found && !newPropertyOf(column)) {
    throw invalid(
      `\`column_map.properties\` has the key ${shownKey(column)}, which cannot be that of a contact property.`,
    )
  }
  return found ?? null
}

function newPropertyOf({ key, type }: PropertyColumn): NewProperty | undefined {
  return NewProperty.safeParse({ key, type: type ?? 'string' }).data
}

/** @returns null for a column whose name is not a valid key */
async function addProperty(pool: Pool, account_id: string, column: PropertyColumn): Promise<StoredProperty | null> {
  const data = newPropertyOf(column)
  if (!data) return null
  await createProperty(pool, account_id, data).catch(error => {
    if (!(error instanceof ApiError && error.statusCode === 409)) throw error // another request has added it
  })
  const stored = await listStoredProperties(pool, account_id)
  return stored.find(({ key }) => key === column.key) as StoredProperty
}

function shownKey({ key }: PropertyColumn): string {
  return JSON.stringify(key.slice(0, 100))
}

function invalid(message: string): ApiError {
  return new ApiError('validation_error', message)
}
