import { domainToUnicode } from 'node:url'
import { z } from 'zod'
import { domainOf } from '#lib/mail/address.ts'
import type { Position } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** A record that was not stored, with its number in the file and the physical line in which it begins. */
export const RecordError = z
  .object({
    object: z.literal('contact_import_error'),
    id: z.string(),
    row: z.int().describe('Number of the record in the file, from 1, without the header.'),
    line: z.int().describe('Line of the file in which it begins, from 1.'),
    email: z.string().nullable().describe('The address as it is in the file.'),
    outcome: z.enum(['failed', 'skipped']).describe('`skipped`: its address comes earlier in the file.'),
    message: z.string().describe('Why it was not stored.'),
  })
  .meta({ id: 'ContactImportError' })
export type RecordError = z.infer<typeof RecordError>

type ImportId = { account_id: string; id: string }

/** Lists the errors in the order of the file. Their ids are their rows. */
export async function listRecordErrors(
  db: Queryable,
  { account_id, id }: ImportId,
  { limit, after, before }: Position,
): Promise<{ object: 'list'; has_more: boolean; data: RecordError[] }> {
  const where = after ? sql.fragment`n > ${after}` : before ? sql.fragment`n < ${before}` : sql.fragment`true`
  const order = before ? sql.fragment`n DESC` : sql.fragment`n ASC`
  const rows = await db.any(sql.type(RecordError)`
    SELECT 'contact_import_error' AS object, n::text AS id, n AS row, line, email, outcome, message FROM import_errors
    WHERE account_id = ${account_id} AND import_id = ${id} AND ${where} ORDER BY ${order} LIMIT ${limit + 1}
  `)
  const data = rows.slice(0, limit)
  return { object: 'list', has_more: rows.length > limit, data: before ? data.reverse() : data }
}

/** Lists the imports into a domain that have errors. */
export async function listFaultyImports(db: Queryable, account_id: string, domain_id: string): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ id: z.string() }))`
    SELECT i.id FROM contact_imports i WHERE i.account_id = ${account_id} AND i.domain_id = ${domain_id}
      AND EXISTS (SELECT FROM import_errors e WHERE e.account_id = i.account_id AND e.import_id = i.id)
  `)
  return rows.map(({ id }) => id)
}

/** Deletes the errors of an import with an address. */
export async function deleteErrorsOf(db: Queryable, { account_id, id }: ImportId, email: string): Promise<void> {
  // Files may have the domain in Unicode, or a name before the address.
  const [local, domain] = [email.slice(0, email.lastIndexOf('@')), domainOf(email)]
  const written = sql.array([email, `${local}@${domainToUnicode(domain)}`], 'text')
  await db.run(sql.unsafe`
    DELETE FROM import_errors e WHERE e.account_id = ${account_id} AND e.import_id = ${id}
      -- Far faster than the rest, and most have another one.
      AND strpos(fold_case(e.email), fold_case(${local})) > 0
      AND EXISTS (SELECT FROM unnest(${written}) AS w(address) WHERE is_of_address(fold_case(e.email), fold_case(w.address)))
  `)
}
