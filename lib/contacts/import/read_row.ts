import type { Subscription } from '#lib/contacts/new_contact.ts'
import type { PropertyValue } from '#lib/contacts/new_property.ts'
import { MAX_COLUMNS } from '#lib/files/csv/read_records.ts'
import { readCell } from '#lib/files/csv/write_csv.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { isTimeZone, NOT_A_ZONE } from '#lib/time_zones.ts'
import { NAME_LINE, withoutBidiControls } from '#lib/zod_fields.ts'
import type { Column, ImportOptions } from './options.ts'

/** In characters. */
const MAX_NAME = 255
const MAX_CELL = 2_000
const MAX_RECORD = 1_000_000

const NUMBER = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const BOOLEANS = new Map([
  ...['true', 't', 'yes', 'y', '1'].map(text => [text, true] as const),
  ...['false', 'f', 'no', 'n', '0'].map(text => [text, false] as const),
])

/** A record as a contact. Null if the cell is empty or missing: the contact's value stays as it is. */
export type Row = {
  email: string
  first_name: string | null
  last_name: string | null
  unsubscribed: boolean | null
  do_not_track: boolean | null
  timezone: string | null
  properties: Record<string, PropertyValue> | null
  /** Choices by the ids of topics. */
  topics: Record<string, Subscription> | null
}

/** Returns the contact of a record, or a sentence that says why the record is invalid. */
export function readRow(cells: string[], { width, columns }: Pick<ImportOptions, 'width' | 'columns'>): Row | string {
  const fault = findFault(cells, width)
  if (fault) return fault
  const row: Row = {
    ...{ email: '', first_name: null, last_name: null, unsubscribed: null, do_not_track: null },
    ...{ timezone: null, properties: null, topics: null },
  }
  for (const column of columns) {
    const text = readCell(cells[column.index])
    const wrong = readColumn(row, column, text)
    if (wrong) return `\`${column.name}\` ${wrong}.`
  }
  return row
}

/** Returns the address of a record as it is written, for an error. */
export function shownEmail(cells: string[], columns: Column[]): string | null {
  const index = columns.find(({ member }) => member === 'email')?.index ?? 0
  const text = cells[index]?.trim().replaceAll('\u0000', '\ufffd').toWellFormed() ?? ''
  return text === '' ? null : text.slice(0, 254).toWellFormed()
}

function findFault(cells: string[], width: number): string | null {
  if (cells.length > MAX_COLUMNS) return `The record has more than ${MAX_COLUMNS} cells.`
  let length = 0
  for (const [n, cell] of cells.entries()) {
    length += cell.length
    if (cell.length > MAX_CELL && readCell(cell).length > MAX_CELL && length <= MAX_RECORD)
      return `Cell ${n + 1} has more than 2,000 characters.`
    if (cell.includes('\u0000')) return `Cell ${n + 1} has a NUL character.`
    if (n >= width && cell.trim() !== '') return `The record has more cells than the header, which has ${width}.`
  }
  return length > MAX_RECORD ? 'The record is longer than 1 MB.' : null
}

function readColumn(row: Row, column: Column, text: string): string | null {
  const { member } = column
  if (member === 'property') return readProperty(row, column, text)
  return member === 'topic' ? readChoice(row, column, text) : readMember(row, member, text)
}

function readMember(row: Row, member: Exclude<Column['member'], 'property' | 'topic'>, text: string): string | null {
  switch (member) {
    case 'email': {
      const address = parseAddress(text)
      if (!address || address.name !== null) return 'must be an address such as ann@acme.com'
      row.email = address.address.toLowerCase()
      return null
    }
    case 'unsubscribed':
    case 'do_not_track':
      if (text === '') return null
      row[member] = BOOLEANS.get(text.toLowerCase()) ?? null
      return row[member] === null ? 'must be true or false' : null
    case 'timezone':
      if (text === '') return null
      row.timezone = text
      return isTimeZone(text) ? null : NOT_A_ZONE
    default:
      return readName(row, member, withoutBidiControls(text))
  }
}

function readName(row: Row, member: 'first_name' | 'last_name', text: string): string | null {
  if (text === '') return null
  row[member] = text
  if (text.length > MAX_NAME) return `must have at most ${MAX_NAME} characters`
  return NAME_LINE.test(text) ? null : 'must be one line'
}

function readProperty(row: Row, { stored_as = '', type }: Column, text: string): string | null {
  if (text === '') return null
  row.properties ??= {}
  if (type === 'number') {
    const value = NUMBER.test(text) ? Number(text) : Number.NaN
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return 'must be a number'
    row.properties[stored_as] = value
  } else {
    row.properties[stored_as] = text
  }
  return null
}

function readChoice(row: Row, { topic_id = '' }: Column, text: string): string | null {
  if (text === '') return null
  const choice = text.toLowerCase()
  if (choice !== 'opt_in' && choice !== 'opt_out') return 'must be opt_in or opt_out'
  row.topics ??= {}
  row.topics[topic_id] = choice
  return null
}
