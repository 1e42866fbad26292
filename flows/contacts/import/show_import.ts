import { type ContactImport, findImport } from '#sql/contacts/import/imports.ts'
import { listRecordErrors, type RecordError } from '#sql/contacts/import/record_errors.ts'
import type { Queryable } from '#sql/pool.ts'

/** Errors that are shown with an import. */
const SHOWN_ERRORS = 100

/** Returns an import with the first errors of its file; null if there is no such import. */
export async function showImport(
  db: Queryable,
  account_id: string,
  id: string,
): Promise<(ContactImport & { errors: RecordError[] }) | null> {
  const found = await findImport(db, account_id, id)
  if (!found) return null
  const { data: errors } = await listRecordErrors(db, { account_id, id }, { limit: SHOWN_ERRORS })
  return { ...found, errors }
}
