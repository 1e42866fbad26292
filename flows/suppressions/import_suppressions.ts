import { isEmailName } from '#lib/contacts/import/map_columns.ts'
import { ApiError } from '#lib/errors.ts'
import { HeaderError, readHeader, requireOnce } from '#lib/files/csv/header.ts'
import { readRecords, UnreadableError } from '#lib/files/csv/read_records.ts'
import { HEAD_BYTES } from '#lib/files/csv/text_encoding.ts'
import { readCell } from '#lib/files/csv/write_csv.ts'
import { newId } from '#lib/ids.ts'
import { parse } from '#lib/json/parse.ts'
import { simulatedOutcome } from '#lib/mail/simulator.ts'
import { SuppressionRow } from '#lib/suppressions/new_suppression.ts'
import type { Pool } from '#sql/pool.ts'
import type { NewSuppressionRow } from '#sql/suppressions/suppression_changes.ts'
import { addSuppressions } from './change_suppressions.ts'

/** A record that was not stored. `line`: the line in which it begins. */
export type SuppressionFault = { line: number; email: string; message: string }

/** `faults`: the first of `failed`. */
export type ImportedSuppressions = {
  total: number
  created: number
  updated: number
  failed: number
  faults: SuppressionFault[]
}

/** Maximum number of faults that are kept: a file of nothing else has millions. */
const MAX_FAULTS = 1_000

/** Rows per statement. */
const SLICE = 1_000

const COLUMNS = ['email', 'reason', 'expires_at'] as const
type Columns = Partial<Record<(typeof COLUMNS)[number], number>>

type Services = { pool: Pool; config: { SIMULATOR_DOMAIN: string } }

/**
 * Suppresses the addresses of a CSV file in slices. Invalid records are left out; addresses that are suppressed already
 * stay suppressed.
 *
 * @throws {ApiError} `validation_error` for a file without a column `email`
 */
export async function importSuppressions(
  { pool, config }: Services,
  account_id: string,
  csv: string,
): Promise<ImportedSuppressions> {
  const { columns, delimiter } = findColumns(csv)
  const result: ImportedSuppressions = { total: 0, created: 0, updated: 0, failed: 0, faults: [] }
  let rows: NewSuppressionRow[] = []
  const store = async () => {
    const added = await addSuppressions(pool, account_id, rows)
    const created = new Set(added.filter(({ is_new }) => is_new).map(({ suppression }) => suppression.id)).size
    result.created += created
    result.updated += rows.length - created
    rows = []
  }
  const fail = (fault: SuppressionFault) => {
    result.failed++
    if (result.faults.length < MAX_FAULTS) result.faults.push(fault)
  }
  try {
    for await (const { line, cells } of readRecords(inPieces(Buffer.from(csv)), { encoding: 'utf-8', delimiter })) {
      result.total++
      const row = readRow(cells, columns, config.SIMULATOR_DOMAIN)
      if ('message' in row) fail({ line, ...row })
      else rows.push(row)
      if (rows.length === SLICE) await store()
    }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    result.total++
    fail({ line: error.line, email: '', message: error.message })
  }
  if (rows.length > 0) await store()
  return result
}

function findColumns(csv: string): { columns: Columns; delimiter: string } {
  try {
    const { names, delimiter } = readHeader(csv.slice(0, HEAD_BYTES))
    const isNamed = (column: string, name: string) =>
      name.toLowerCase() === column || (column === 'email' && isEmailName(name))
    const indexes = COLUMNS.map(column => [column, names.findIndex(name => isNamed(column, name))] as const)
    const columns: Columns = Object.fromEntries(indexes.filter(([, index]) => index !== -1))
    if (columns.email === undefined) throw new HeaderError('The header must have a column `email`.')
    requireOnce(names, names[columns.email] as string)
    return { columns, delimiter }
  } catch (error) {
    if (!(error instanceof HeaderError)) throw error
    throw new ApiError('validation_error', error.message, { cause: error })
  }
}

type RowFault = { email: string; message: string }

function readRow(cells: string[], columns: Columns, simulator: string): NewSuppressionRow | RowFault {
  const given = COLUMNS.map(name => {
    const text = readCell(cells[columns[name] ?? cells.length])
    return [name, text === '' ? undefined : text]
  })
  const row = Object.fromEntries(given) as Record<string, string | undefined>
  try {
    const { email, reason, expires_at } = parse(SuppressionRow, row)
    if (simulatedOutcome(email, simulator)) throw new ApiError('validation_error', 'The simulator is never suppressed.')
    return { id: newId(), address: email.address, reason, expires_at }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { email: (row.email ?? '').slice(0, 254).toWellFormed(), message: error.message }
  }
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  // In pieces, so that other requests get their turn in between.
  for (let at = 0; at < bytes.length; at += HEAD_BYTES) yield bytes.subarray(at, at + HEAD_BYTES)
}
