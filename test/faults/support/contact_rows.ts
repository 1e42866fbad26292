/** `bad`: this many rows are invalid, and as many repeat an address. */
type Size = { rows: number; bad: number; cell_bytes: number }

/** A record that is not stored, as listed by GET /contacts/imports/:id/errors. */
export type Unstored = { row: number; line: number; outcome: 'failed' | 'skipped' }

export type ContactRows = { text: string; unstored: Unstored[] }

const BROKEN_EVERY = 7
const END = '\r\n'

/** The name of the contact in a row. Windows-1252 has its letters, and every encoding writes them differently. */
export const nameOf = (row: number) => `J\u00f6rg \u20ac${row % 100}`

/**
 * The text of a file with `;` between cells and line breaks in quotes, and its records that are not to be stored. The cell in
 * the middle has this many bytes.
 */
export function contactRows(mark: string, { rows, bad, cell_bytes }: Size): ContactRows {
  const every = Math.floor(rows / bad)
  const huge = Math.ceil(rows / 2)
  const pieces = [`email;first_name;note${END}`]
  const unstored: Unstored[] = []
  for (let row = 1, line = 2; row <= rows; row++) {
    const [isWrong, isRepeated] = [row % every === 2, row % every === 3]
    if (isWrong || row === huge) unstored.push({ row, line, outcome: 'failed' })
    else if (isRepeated) unstored.push({ row, line, outcome: 'skipped' })
    const isBroken = row % BROKEN_EVERY === 0
    const note = row === huge ? 'x'.repeat(cell_bytes) : isBroken ? `"two${END}lines; ""${row}"""` : 'one'
    // A repeated address is that of the first row, or of two rows before.
    const of = isRepeated ? (row % 2 === 0 ? 1 : row - 2) : row
    pieces.push(`${isWrong ? 'wrong ' : ''}person${of}@${mark}.com;${nameOf(row)};${note}${END}`)
    line += isBroken && row !== huge ? 2 : 1
  }
  return { text: pieces.join(''), unstored }
}
