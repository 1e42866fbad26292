import type { PropertyType } from '#lib/contacts/new_property.ts'
import type { ColumnMap } from './new_import.ts'
import type { Column } from './options.ts'

/** A column whose cells become a property. `is_asked`: the request names it; `type` is null where it does not say. */
export type PropertyColumn = { index: number; name: string; key: string; type: PropertyType | null; is_asked: boolean }

/** `members`: the columns of what every contact has. */
export type MappedColumns = { members: Column[]; properties: PropertyColumn[]; ignored: string[] }

/** A column is missing. The message is a sentence. */
export class ColumnError extends Error {}

const MEMBERS = ['email', 'first_name', 'last_name', 'unsubscribed', 'timezone'] as const

/** Other names of the column of the address. */
const EMAIL_NAMES = new Set(['email', 'e_mail', 'email_address'])

/** Says what the columns of a file hold: by the map, or by the names in the header. @throws {ColumnError} */
export function mapColumns(names: string[], map: ColumnMap | null): MappedColumns {
  const mapped = map ? byMap(names, map) : byNames(names)
  if (!mapped.members.some(({ member }) => member === 'email')) {
    throw new ColumnError('The header must have a column `email`, or `column_map.email` must name one.')
  }
  const used = new Set([...mapped.members, ...mapped.properties].map(({ index }) => index))
  return { ...mapped, ignored: names.filter((name, index) => !used.has(index) && name !== '') }
}

function byMap(names: string[], map: ColumnMap): Omit<MappedColumns, 'ignored'> {
  const find = (column: string, field: string) => {
    const index = names.findIndex(name => name.toLowerCase() === column.trim().toLowerCase())
    if (index === -1) throw new ColumnError(`\`column_map.${field}\` must be a column of the file.`)
    return { index, name: names[index] as string }
  }
  const members = MEMBERS.flatMap(member => {
    const column = map[member] ?? (member === 'email' ? names.find(name => EMAIL_NAMES.has(keyOf(name))) : undefined)
    return column === undefined ? [] : [{ ...find(column, member), member }]
  })
  const properties = Object.entries(map.properties ?? {}).map(([key, { column, type }]) => ({
    ...find(column, `properties.${key}.column`),
    ...{ key, type: type ?? null, is_asked: true },
  }))
  return { members, properties }
}

/** The first of several columns of a name is read. */
function byNames(names: string[]): Omit<MappedColumns, 'ignored'> {
  const members: Column[] = []
  const properties: PropertyColumn[] = []
  const seen = new Set<string>()
  for (const [index, name] of names.entries()) {
    const key = EMAIL_NAMES.has(keyOf(name)) ? 'email' : keyOf(name)
    if (key === '' || seen.has(key)) continue
    seen.add(key)
    const member = MEMBERS.find(one => one === key)
    if (member) members.push({ index, name, member })
    else properties.push({ index, name, key, type: null, is_asked: false })
  }
  return { members, properties }
}

/** `First Name` is the column `first_name`. */
function keyOf(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
}
