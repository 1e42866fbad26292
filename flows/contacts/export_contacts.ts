import { toCsvLine } from '#lib/files/csv/write_csv.ts'
import { listContactsToExport } from '#sql/contacts/export_rows.ts'
import { listStoredProperties } from '#sql/contacts/properties.ts'
import type { Pool } from '#sql/pool.ts'

const PAGE = 500

const FIELDS = ['email', 'first_name', 'last_name', 'unsubscribed', 'do_not_track', 'timezone', 'created_at'] as const

/** Yields the contacts of a domain as lines of CSV, oldest first. An import of them restores the same values. */
export async function* exportContacts(
  pool: Pool,
  place: { account_id: string; domain_id: string },
): AsyncGenerator<string> {
  const properties = await listStoredProperties(pool, place.account_id)
  const keys = properties.map(({ key }) => key)
  yield toCsvLine([...FIELDS, ...keys])
  for (let after: string | null = null; ; ) {
    const page = await listContactsToExport(pool, place, after, PAGE)
    const lines = page.map(contact => {
      const values = contact.properties
      const own = properties.map(({ stored_as }) => (Object.hasOwn(values, stored_as) ? values[stored_as] : null))
      return toCsvLine([...FIELDS.map(field => contact[field]), ...own])
    })
    yield lines.join('')
    after = page.at(-1)?.id ?? null
    if (page.length < PAGE) return
  }
}
