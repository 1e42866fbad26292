import { MAX_KEY, type PropertyType } from '#lib/contacts/new_property.ts'
import { requireOnce } from '#lib/files/csv/header.ts'
import type { ColumnMap } from './new_import.ts'
import { type Column, MEMBERS } from './options.ts'

/** A column whose cells become a property. `is_asked`: the column map names it. `type` is null if the map does not give one. */
export type PropertyColumn = { index: number; name: string; key: string; type: PropertyType | null; is_asked: boolean }

/** A column of choices about a topic: the column map has the id of the topic, the header its name. */
export type TopicColumn = { index: number; name: string; topic: { id: string } | { name: string } }

/** `members`: the columns of fields that every contact has. */
export type MappedColumns = {
  members: Column[]
  properties: PropertyColumn[]
  topics: TopicColumn[]
  ignored: string[]
}
type Mapped = Omit<MappedColumns, 'ignored'>

/** A column is missing, or is meant for two things. The message is a sentence. */
export class ColumnError extends Error {}

/** Names of the column of addresses. */
const EMAIL_NAMES = new Set(['email', 'e_mail', 'email_address'])

/** Beginning of the name of a column with choices about a topic, before the name of the topic. */
export const TOPIC_PREFIX = 'topic:'

/** Tells whether a column of this name has addresses. */
export function isEmailName(name: string): boolean {
  return EMAIL_NAMES.has(keyOf(name))
}

/**
 * Maps the columns of a file by the column map of the request, and the others by their names in the header. A member or property
 * in the map is not searched for by name. If several columns have the same name, the first one is used; for the address that is
 * an error.
 * @throws {ColumnError} @throws {HeaderError}
 */
export function mapColumns(names: string[], map: ColumnMap | null): MappedColumns {
  const mapped = withNamed(names, map ? byMap(names, map) : { members: [], properties: [], topics: [] })
  requireAddresses(names, mapped)
  const used = indexesOf(mapped)
  return { ...mapped, ignored: names.filter((name, index) => !used.has(index) && name !== '') }
}

function requireAddresses(names: string[], { members }: Mapped): void {
  const found = members.find(({ member }) => member === 'email')
  if (!found) throw new ColumnError('The header must have a column `email`, or `column_map.email` must name one.')
  requireOnce(names, found.name)
}

function byMap(names: string[], map: ColumnMap): Mapped {
  const find = (column: string, field: string) => {
    const index = names.findIndex(name => name.toLowerCase() === column.trim().toLowerCase())
    if (index === -1) throw new ColumnError(`\`column_map.${field}\` must be a column of the file.`)
    return { index, name: names[index] as string }
  }
  const members = MEMBERS.flatMap(member => {
    const column = map[member]
    return column === undefined ? [] : [{ ...find(column, member), member }]
  })
  const properties = Object.entries(map.properties ?? {}).map(([key, { column, type }]) => ({
    ...find(column, `properties.${key}.column`),
    ...{ key, type: type ?? null, is_asked: true },
  }))
  const topics = Object.entries(map.topics ?? {}).map(([id, { column }]) => ({
    ...find(column, `topics.${clipped(id)}.column`),
    topic: { id: id.toLowerCase() },
  }))
  requireDistinct([
    ...members.map(({ index, member }) => ({ index, field: member })),
    ...properties.map(({ index, key }) => ({ index, field: `properties.${clipped(key)}` })),
    ...topics.map(({ index, topic }) => ({ index, field: `topics.${clipped(topic.id)}` })),
  ])
  return { members, properties, topics }
}

function clipped(key: string): string {
  return key.slice(0, 100)
}

/** @throws {ColumnError} for a column with two fields */
function requireDistinct(fields: { index: number; field: string }[]): void {
  const taken = new Map<number, string>()
  for (const { index, field } of fields) {
    const other = taken.get(index)
    if (other !== undefined) {
      throw new ColumnError(`\`column_map.${field}\` must not be the same column as \`column_map.${other}\`.`)
    }
    taken.set(index, field)
  }
}

/** Adds the columns that the map does not name, by their own names. */
function withNamed(names: string[], { members, properties, topics }: Mapped): Mapped {
  const all: Mapped = { members: [...members], properties: [...properties], topics: [...topics] }
  const used = indexesOf(all)
  const seen = new Set([...members.map(({ member }) => member), ...properties.map(({ key }) => key.toLowerCase())])
  for (const [index, name] of names.entries()) {
    if (isTopicName(name) && !used.has(index)) {
      all.topics.push({ index, name, topic: { name: name.slice(TOPIC_PREFIX.length).trim() } })
      continue
    }
    const key = isEmailName(name) ? 'email' : keyOf(name)
    if (key === '' || used.has(index) || seen.has(key)) continue
    const member = MEMBERS.find(one => one === key)
    // Keys of properties may differ in case alone, so the caller that looks them up finds duplicate columns.
    if (member) seen.add(key)
    if (member) all.members.push({ index, name, member })
    else all.properties.push({ index, name, key, type: null, is_asked: false })
  }
  return all
}

function isTopicName(name: string): boolean {
  return name.toLowerCase().startsWith(TOPIC_PREFIX)
}

function indexesOf({ members, properties, topics }: Mapped): Set<number> {
  return new Set([...members, ...properties, ...topics].map(({ index }) => index))
}

/**
 * Returns the key for a column's name: `first_name` for `First Name`, `strasse_privat` for `Straße (privat)`; empty if there is
 * none.
 */
function keyOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('ß', 'ss')
  // From the first letter to the last. `\W+$` would take quadratic time for a name of 60,000 blanks.
  const [middle = ''] = /\w(?:.*\w)?/s.exec(plain) ?? []
  return middle.replace(/\W+/g, '_').slice(0, MAX_KEY)
}
