import type { NewProperty, PropertyValue } from '#lib/contacts/new_property.ts'
import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { type ContactProperty, findProperty, insertProperty, updateFallback } from '#sql/contacts/properties.ts'
import type { Pool } from '#sql/pool.ts'
import { refuseDuplicate } from '#sql/retry.ts'

/** Adds a property to the contacts of an account. @throws {ApiError} 409 if there is one of this key */
export async function createProperty(pool: Pool, account_id: string, property: NewProperty): Promise<ContactProperty> {
  const row = { ...property, account_id, id: newId() }
  return insertProperty(pool, row).catch(refuseDuplicate('`key` is used by another property.'))
}

/**
 * Changes the value for contacts that have none of their own; null removes it. @throws {ApiError} 404; 422 for another
 * type
 */
export async function changeFallback(
  pool: Pool,
  account_id: string,
  id: string,
  value: PropertyValue | null,
): Promise<void> {
  const { type } = orNotFound('Contact property', await findProperty(pool, account_id, id))
  if (value !== null && typeof value !== type) {
    throw new ApiError('validation_error', `\`fallback_value\` must be a ${type}.`)
  }
  if ((await updateFallback(pool, account_id, id, value)) === 0) throw notFound('Contact property')
}
