import type { TopicColumn } from '#lib/contacts/import/map_columns.ts'
import type { Column } from '#lib/contacts/import/options.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { clip } from '#lib/zod_fields.ts'
import type { Queryable } from '#sql/pool.ts'
import { listTopicsOfDomain, type NamedTopic } from '#sql/topics/topics.ts'

/**
 * Looks up the topics of columns. Of two columns of a topic, the second one is ignored. A topic is never added, since nobody
 * could say whether contacts without a choice get its mail.
 *
 * @throws {ApiError} 404 for a topic of the column map, 422 for one of the header that contacts of the domain cannot have
 */
export async function resolveTopics(
  db: Queryable,
  place: { account_id: string; domain_id: string },
  topics: TopicColumn[],
): Promise<{ columns: Column[]; ignored: string[] }> {
  const known = topics.length > 0 ? await listTopicsOfDomain(db, place) : []
  const resolved: { columns: Column[]; ignored: string[] } = { columns: [], ignored: [] }
  for (const column of topics) {
    const { index, name } = column
    const topic_id = findTopic(known, column)
    if (resolved.columns.some(one => one.topic_id === topic_id)) resolved.ignored.push(name)
    else resolved.columns.push({ index, name, member: 'topic', topic_id })
  }
  return resolved
}

function findTopic(known: readonly NamedTopic[], { name: column, topic }: TopicColumn): string {
  if ('id' in topic) return known.find(({ id }) => id === topic.id)?.id ?? fail(notFound('Topic'))
  const isNamed = (isSame: (name: string) => boolean) => known.find(({ name }) => isSame(name.trim()))?.id
  // Names of topics may differ in case alone.
  const id = isNamed(name => name === topic.name) ?? isNamed(name => name.toLowerCase() === topic.name.toLowerCase())
  const message = `The file has the column ${clip(column)}, but the domain has no topic of this name. Create it, or remove the column.`
  return id ?? fail(new ApiError('validation_error', message))
}

function fail(error: ApiError): never {
  throw error
}
