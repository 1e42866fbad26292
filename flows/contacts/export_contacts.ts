import { TOPIC_PREFIX } from '#lib/contacts/import/map_columns.ts'
import { toCsvLine } from '#lib/files/csv/write_csv.ts'
import { listContactsToExport } from '#sql/contacts/export_rows.ts'
import { listStoredProperties } from '#sql/contacts/properties.ts'
import type { Pool } from '#sql/pool.ts'
import { listTopicsOfDomain } from '#sql/topics/topics.ts'

const PAGE = 500

const FIELDS = ['email', 'first_name', 'last_name', 'unsubscribed', 'do_not_track', 'timezone', 'created_at'] as const

/** Yields the contacts of a domain as lines of CSV, oldest first. An import of them restores the same values. */
export async function* exportContacts(
  pool: Pool,
  place: { account_id: string; domain_id: string },
): AsyncGenerator<string> {
  const properties = await listStoredProperties(pool, place.account_id)
  const keys = properties.map(({ key }) => key)
  const topics = await listTopicsOfDomain(pool, place)
  yield toCsvLine([...FIELDS, ...keys, ...topics.map(({ name }) => TOPIC_PREFIX + name)])
  for (let after: string | null = null; ; ) {
    const page = await listContactsToExport(pool, place, after, PAGE)
    const lines = page.map(contact => {
      const values = contact.properties
      const own = properties.map(({ stored_as }) => (Object.hasOwn(values, stored_as) ? values[stored_as] : null))
      const choices = topics.map(({ id }) => contact.topics[id])
      return toCsvLine([...FIELDS.map(field => contact[field]), ...own, ...choices])
    })
    yield lines.join('')
    after = page.at(-1)?.id ?? null
    if (page.length < PAGE) return
  }
}
