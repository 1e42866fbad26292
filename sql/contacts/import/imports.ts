import { z } from 'zod'
import { ImportOptions } from '#lib/contacts/import/options.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

export const ImportStatus = z.enum(['queued', 'in_progress', 'completed', 'failed'])

/** Each contact or record is counted once: `created + updated + skipped + failed = total`. */
export const ImportCounts = z
  .object({
    total: z.int().describe('All together.'),
    created: z.int().describe('New contacts.'),
    updated: z.int().describe('Contacts that already existed, including those that were not changed.'),
    skipped: z.int().describe('Records that were left out, because the address occurs twice or by `on_conflict`.'),
    failed: z.int().describe('Invalid records.'),
  })
  .meta({ id: 'ContactCounts' })

/**
 * An import of contacts from a file. `counts`: of the records merged so far. `records`: number of
 * records in the file, null until it is known. `error`: why the file was not read to its end.
 */
export const ContactImport = z
  .object({
    object: z.literal('contact_import'),
    id: z.string(),
    domain_id: z.string().describe('Id of the domain.'),
    audience_id: z.string().nullable().describe('Id of the audience that the contacts join.'),
    status: ImportStatus.describe('`failed`: the file was not read to its end.'),
    counts: ImportCounts.describe('Counts of the records that have been processed so far.'),
    records: z.int().nullable().describe('Number of records in the file; null until they are counted.'),
    ignored_columns: z.array(z.string()).describe('Columns of the file that are not imported.'),
    error: z.string().nullable().describe('Why the file was not read to its end.'),
    errors_cut: z
      .boolean()
      .describe(
        'True once more than 100,000 records were skipped: repeated addresses are then counted, and not listed.',
      ),
    created_at: z.date(),
    completed_at: z.date().nullable().describe('When the import ended.'),
  })
  .meta({ id: 'ListedContactImport' })
export type ContactImport = z.infer<typeof ContactImport>

const columns = sql.fragment`
  'contact_import' AS object, id, domain_id, audience_id, status, json_build_object('total', created + updated + skipped + failed,
    'created', created, 'updated', updated, 'skipped', skipped, 'failed', failed) AS counts, records,
  options -> 'ignored_columns' AS ignored_columns, error, skipped > 100000 AS errors_cut,
  created_at, completed_at
`

export async function listImports(
  db: Queryable,
  account_id: string,
  { status }: { status?: z.infer<typeof ImportStatus> | undefined },
  position: Position,
): Promise<Page<ContactImport>> {
  const ofStatus = status === undefined ? sql.fragment`true` : sql.fragment`status = ${status}`
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ContactImport)`
      SELECT ${columns} FROM contact_imports
      WHERE account_id = ${account_id} AND ${ofStatus} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findImport(db: Queryable, account_id: string, id: string): Promise<ContactImport | null> {
  return db.maybeOne(sql.type(ContactImport)`
    SELECT ${columns} FROM contact_imports WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** An import that is about to be queued. `source_id`: the API key. */
export type NewImportRow = {
  account_id: string
  id: string
  domain_id: string
  audience_id: string | null
  blob_id: string
  options: ImportOptions
  source_id: string | null
  client_address: string | null
}

export async function countOpenImports(db: Queryable, account_id: string): Promise<number> {
  const { count } = await db.one(sql.type(z.object({ count: z.int() }))`
    SELECT count(*) FROM contact_imports WHERE account_id = ${account_id} AND status IN ('queued', 'in_progress')
  `)
  return count
}

/** Queues an import; returns false if the account already has `max_open` unfinished ones. */
export async function insertImport(tx: Tx, row: NewImportRow, max_open: number): Promise<boolean> {
  const { account_id, id, domain_id, audience_id, blob_id, options, source_id, client_address } = row
  await tx.run(sql.unsafe`SELECT pg_advisory_xact_lock(hashtextextended(${`imports ${account_id}`}, 0))`)
  const count = await tx.run(sql.unsafe`
    INSERT INTO contact_imports (account_id, id, domain_id, audience_id, blob_id, options, source_id, client_address)
    SELECT ${account_id}, ${id}, ${domain_id}, ${audience_id}, ${blob_id}, ${JSON.stringify(options)}::jsonb, ${source_id},
      ${client_address}::inet
    WHERE (
      SELECT count(*) FROM contact_imports WHERE account_id = ${account_id} AND status IN ('queued', 'in_progress')
    ) < ${max_open}
  `)
  return count > 0
}

/** The fields of an import that the worker with its lease needs. */
export const LeasedImport = z.object({
  account_id: z.string(),
  id: z.string(),
  domain_id: z.string(),
  blob_id: z.string(),
  options: ImportOptions,
  records: z.int().nullable(),
  merged_through: z.int(),
})
export type LeasedImport = z.infer<typeof LeasedImport>
