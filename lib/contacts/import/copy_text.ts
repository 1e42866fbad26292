import type { Row } from './read_row.ts'

/**
 * A row to stage. `id`: the id of the contact, if it is a new one. `repeated_n`: the number of the first row with the address, or 0
 * if it is this one. `written_email`: the address as it is in the file, if it differs from `email` and the row may be skipped.
 */
export type StagedRow = Row & { n: number; line: number; id: string; repeated_n: number; written_email: string | null }

/**
 * Returns a line in COPY's text format (https://www.postgresql.org/docs/current/sql-copy.html), in the order of COPIED_COLUMNS.
 */
export function toCopyLine(import_id: string, row: StagedRow): string {
  const { n, line, id, email, first_name, last_name, unsubscribed, do_not_track, timezone } = row
  const [properties, topics] = [row.properties, row.topics].map(values => value(values && JSON.stringify(values)))
  const texts = [email, first_name, last_name].map(value).join('\t')
  const flags = [unsubscribed, do_not_track].map(flag => flag ?? '\\N').join('\t')
  return `${import_id}\t${n}\t${line}\t${id}\t${texts}\t${flags}\t${properties}\t${value(timezone)}\t${row.repeated_n}\t${value(row.written_email)}\t${topics}\n`
}

export const COPIED_COLUMNS =
  'import_id, n, line, id, email, first_name, last_name, unsubscribed, do_not_track, properties, timezone, repeated_n, written_email, topics'

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function value(text: string | null): string {
  if (text === null) return '\\N'
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, char => ESCAPES[char] as string) : text
}
