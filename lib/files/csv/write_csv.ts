type Cell = string | number | boolean | Date | null | undefined

/**
 * Text that a spreadsheet would treat as a formula: `=`, `+`, `-` or `@`, also full-width, or a tab or a line break (OWASP, "CSV
 * Injection"), after blanks and invisible characters, which some programs remove. Leading `'` are included, so that ours can be
 * told from the text's own.
 */
const FORMULA = /^['\p{Cc}\p{Cf}\p{Z}]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/u
const SPECIAL = /[",\r\n]/

/**
 * Returns a line of a CSV file (RFC 4180). Text that would be a formula is prefixed with a `'`, which spreadsheets do not show.
 */
export function toCsvLine(cells: Cell[]): string {
  return `${cells.map(toCell).join(',')}\r\n`
}

/** Returns the text of a cell without blanks around it, or exactly as it was before `toCsvLine` added a `'`. */
export function readCell(cell = ''): string {
  const text = cell.trimStart()
  return text.startsWith("'") && FORMULA.test(text.slice(1)) ? text.slice(1) : cell.trim()
}

function toCell(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (cell instanceof Date) return cell.toISOString()
  if (typeof cell !== 'string') return String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
