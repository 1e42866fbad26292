import { plainText } from './record_text.ts'

type Item = Record<string, unknown>

const GAP = '  '
const LONGEST_CELL = 44
/** Fields that come first, since people look for them. */
const FIRST = ['id', 'email', 'name', 'to', 'from', 'subject', 'status', 'last_event', 'type', 'created_at']

/** Formats the lines of a table. The first items determine its columns. */
export class Table {
  readonly #columns: { name: string; width: number }[]
  #hasHead = false

  /** @param width width of the terminal @param fields the columns; null: those that fit */
  constructor(items: Item[], width: number, fields: string[] | null) {
    const names = fields ?? namesOf(items[0] ?? {})
    this.#columns = fitting(
      names.map(name => ({ name, width: widthOf([name, ...items.map(item => cellOf(item[name]))]) })),
      fields === null ? width : Number.POSITIVE_INFINITY,
    )
  }

  lines(items: Item[]): string[] {
    const head = this.#hasHead ? [] : [this.#line(name => name.toUpperCase())]
    this.#hasHead = true
    return [...head, ...items.map(item => this.#line(name => cellOf(item[name])))]
  }

  #line(textOf: (name: string) => string): string {
    return (
      this.#columns
        // An id is never cut, since a part of it is useless.
        .map(({ name, width }) => (name === 'id' ? textOf(name).padEnd(width) : pad(textOf(name), width)))
        .join(GAP)
        .trimEnd()
    )
  }
}

function namesOf(item: Item): string[] {
  const names = Object.keys(item).filter(name => name !== 'object' && !isObject(item[name]))
  return [...FIRST.filter(name => names.includes(name)), ...names.filter(name => !FIRST.includes(name))]
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (!Array.isArray(value) || value.some(isObject))
}

function fitting(columns: { name: string; width: number }[], width: number): { name: string; width: number }[] {
  let used = 0
  return columns.filter((column, n) => {
    if (n > 0 && used + GAP.length + column.width > width) return false
    used += column.width + GAP.length
    return true
  })
}

function widthOf(cells: string[]): number {
  return Math.min(LONGEST_CELL, Math.max(...cells.map(lengthOf)))
}

function cellOf(value: unknown): string {
  return plainText(value).replaceAll('\n', ' ')
}

/** Created with the first table, since creating one takes half as long as everything else that a command does before it. */
let segmenter: Intl.Segmenter | undefined
/** East Asian characters and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u

function lengthOf(text: string): number {
  return lettersOf(text).reduce((sum, { width }) => sum + width, 0)
}

function lettersOf(text: string): { letter: string; width: number }[] {
  segmenter ??= new Intl.Segmenter('en')
  return Array.from(segmenter.segment(text), ({ segment }) => ({ letter: segment, width: WIDE.test(segment) ? 2 : 1 }))
}

/** Returns text with exactly this width: padded with spaces, or cut. */
function pad(text: string, width: number): string {
  const missing = width - lengthOf(text)
  if (missing >= 0) return text + ' '.repeat(missing)
  let cut = ''
  let used = 0
  for (const { letter, width: own } of lettersOf(text)) {
    if (used + own > width - 1) break
    cut += letter
    used += own
  }
  return `${cut}…${' '.repeat(width - 1 - used)}`
}
