type Cell = string | number | boolean | Date | null | undefined

/** A spreadsheet takes a cell that begins so for a formula, but for a `'`, which is doubled so that it can be told from ours. */
const FORMULA = /^'*[=+\-@\t\r]/
const ESCAPED = /^'(?='*[=+\-@\t\r])/
const SPECIAL = /[",\r\n]/

/** A line of a CSV file (RFC 4180). Text that would be a formula gets a `'` before it, which spreadsheets do not show. */
export function toCsvLine(cells: Cell[]): string {
  return `${cells.map(toCell).join(',')}\r\n`
}

/** Returns the text of a cell as it was before it was written by `toCsvLine`. */
export function unescapeFormula(text: string): string {
  return text.replace(ESCAPED, '')
}

function toCell(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (cell instanceof Date) return cell.toISOString()
  if (typeof cell !== 'string') return String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
