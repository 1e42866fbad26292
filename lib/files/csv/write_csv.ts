type Cell = string | number | boolean | Date | null | undefined

/** Text that a spreadsheet would treat as a formula. Leading `'` are included, so that ours can be told from the text's own. */
const FORMULA = /^'*[=+\-@\t\r]/
const ESCAPED = /^'(?='*[=+\-@\t\r])/
const SPECIAL = /[",\r\n]/

/**
 * Returns a line of a CSV file (RFC 4180). Text that would be a formula is prefixed with a `'`, which spreadsheets do not show.
 */
export function toCsvLine(cells: Cell[]): string {
  return `${cells.map(toCell).join(',')}\r\n`
}

/** Returns the text of a cell as it was before `toCsvLine`. */
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
