import { type ContactPlace, requireGroups } from '#flows/contacts/join_groups.ts'
import type { Blobs } from '#flows/files/blobs.ts'
import { ColumnError, mapColumns } from '#lib/contacts/import/map_columns.ts'
import type { ImportForm } from '#lib/contacts/import/new_import.ts'
import type { ImportOptions } from '#lib/contacts/import/options.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { HeaderError, readHeader } from '#lib/files/csv/header.ts'
import { decodeHead, EncodingProbe, type FileText } from '#lib/files/csv/text_encoding.ts'
import { newId } from '#lib/ids.ts'
import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import {
  type ContactImport,
  countOpenImports,
  findImport,
  insertImport,
  type NewImportRow,
} from '#sql/contacts/import/imports.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { resolveProperties } from './resolve_properties.ts'
import { resolveTopics } from './resolve_topics.ts'

/** Maximum number of unfinished imports per account. */
const MAX_OPEN = 5

/** An uploaded file. */
export type ImportFile = FileText & { blob_id: string; sha256: string }

/** Stores a file from a JSON body. */
export async function storeCsv(blobs: Blobs, account_id: string, csv: string): Promise<ImportFile> {
  const probe = new EncodingProbe()
  const bytes = Buffer.from(csv)
  probe.push(bytes)
  const { id, sha256 } = await blobs.put(account_id, bytes)
  return { ...probe.end(), blob_id: id, sha256 }
}

/**
 * Checks an import and reads the header of its file, before the import is queued.
 *
 * @throws {ApiError} 404, `validation_error`, `contacts_busy`
 */
export async function prepareImport(
  pool: Pool,
  place: ContactPlace,
  file: ImportFile,
  form: ImportForm,
  { source_id, client_address }: ConsentOrigin,
): Promise<NewImportRow> {
  await requireGroups(pool, place, form)
  // Checked again when it is queued, but a refused import must not leave new properties behind.
  if ((await countOpenImports(pool, place.account_id)) >= MAX_OPEN) throw tooManyImports()
  const options = await readOptions(pool, place, file, form)
  return { ...place, id: newId(), blob_id: file.blob_id, options, source_id, client_address }
}

/** Queues an import. @throws {ApiError} `contacts_busy` */
export async function queueImport(tx: Tx, row: NewImportRow): Promise<ContactImport> {
  const { account_id, id } = row
  if (!(await insertImport(tx, row, MAX_OPEN))) throw tooManyImports()
  await addJob(tx, 'import_contacts', { account_id, import_id: id })
  return orNotFound('Import', await findImport(tx, account_id, id))
}

function tooManyImports(): ApiError {
  const message = `The account has ${MAX_OPEN} imports that have not ended. Retry when one of them has.`
  return new ApiError('contacts_busy', message, { headers: { 'retry-after': '30' } })
}

async function readOptions(
  pool: Pool,
  place: ContactPlace,
  file: ImportFile,
  form: ImportForm,
): Promise<ImportOptions> {
  const encoding = encodingOf(file, form.encoding)
  try {
    const { names, delimiter } = readHeader(decodeHead(file.head, encoding), form.delimiter)
    const mapped = mapColumns(names, form.column_map ?? null)
    // First, since an import that is refused must not add properties.
    const topics = await resolveTopics(pool, place, mapped.topics)
    const { columns, ignored } = await resolveProperties(pool, place.account_id, mapped, form.create_properties)
    return {
      ...{ encoding, delimiter, width: names.length, columns: [...columns, ...topics.columns] },
      ignored_columns: [...ignored, ...topics.ignored],
      stored_as: columns.flatMap(column => column.stored_as ?? []),
      ...{ on_conflict: form.on_conflict, resubscribe: form.resubscribe },
      trigger_automations: form.trigger_automations,
      ...{ segments: form.segments ?? [], topics: form.topics ?? [] },
    }
  } catch (error) {
    if (error instanceof HeaderError || error instanceof ColumnError) throw invalid(error.message, error)
    throw error
  }
}

/** @throws {ApiError} if the file is not UTF-8 but should be */
function encodingOf({ encoding, is_utf8 }: ImportFile, given: string | undefined): string {
  const label = given === undefined ? encoding : new TextDecoder(given).encoding
  if (label === 'utf-8' && !is_utf8) throw invalid('The file is not valid UTF-8.')
  return label
}

function invalid(message: string, cause?: unknown): ApiError {
  return new ApiError('validation_error', message, { cause })
}
