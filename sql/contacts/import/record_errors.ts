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

const Place = z.object({ import_id: z.string(), n: z.int() })
type Place = z.infer<typeof Place>

/**
 * Deletes errors with an address from imports into a domain, among the next `limit` errors of the account; returns the place of the
 * last of them, or null at the end.
 */
export async function deleteErrorsOf(
  db: Queryable,
  { account_id, domain_id, email }: { account_id: string; domain_id: string; email: string },
  after: Place | null,
  limit: number,
): Promise<Place | null> {
  // Files may have the domain in Unicode, or a name before the address.
  const [local, domain] = [email.slice(0, email.lastIndexOf('@')), domainOf(email)]
  const written = sql.array([email, `${local}@${domainToUnicode(domain)}`], 'text')
  const next = after ? sql.fragment`(e.import_id, e.n) > (${after.import_id}, ${after.n})` : sql.fragment`true`
  return db.maybeOne(sql.type(Place)`
    WITH slice AS MATERIALIZED (
      SELECT e.account_id, e.import_id, e.n, e.email FROM import_errors e WHERE e.account_id = ${account_id} AND ${next}
      ORDER BY e.import_id, e.n LIMIT ${limit}
    ), found AS MATERIALIZED (
      SELECT s.account_id, s.import_id, s.n FROM slice s JOIN contact_imports i ON i.account_id = s.account_id AND i.id = s.import_id
      WHERE i.domain_id = ${domain_id} AND EXISTS (
        SELECT FROM unnest(${written}) AS w(address) WHERE is_of_address(fold_case(s.email), fold_case(w.address))
      )
    ), deleted AS (
      DELETE FROM import_errors e USING found f WHERE e.account_id = f.account_id AND e.import_id = f.import_id AND e.n = f.n
    )
    SELECT import_id, n FROM slice ORDER BY import_id DESC, n DESC LIMIT 1
  `)
}
