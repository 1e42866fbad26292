import type { RunContact } from '#lib/automations/evaluate/facts.ts'
import {
  type AccountProperty,
  listAccountProperties,
  type ReadContact,
  readContacts,
} from '#sql/automations/engine/contacts.ts'
import type { Tx } from '#sql/pool.ts'

/** The properties of accounts, by account. */
export type Properties = Map<string, AccountProperty[]>

export async function readProperties(tx: Tx, accounts: string[]): Promise<Properties> {
  const rows = await listAccountProperties(tx, [...new Set(accounts)])
  return Map.groupBy(rows, ({ account_id }) => account_id)
}

/** Returns contacts as steps see them, by id; deleted contacts are missing. */
export async function readRunContacts(
  tx: Tx,
  ids: { account_id: string; contact_id: string }[],
  properties: Properties,
): Promise<Map<string, RunContact>> {
  const distinct = [...new Map(ids.map(id => [id.contact_id, id])).values()]
  const rows = await readContacts(tx, distinct)
  return new Map(rows.map(row => [row.id, toRunContact(row, properties.get(row.account_id) ?? [])]))
}

/** Values of deleted properties are left out. */
function toRunContact({ account_id: _, properties: stored, ...contact }: ReadContact, properties: AccountProperty[]) {
  const own: RunContact['own'] = {}
  const merged: RunContact['properties'] = {}
  for (const { key, stored_as, fallback_value } of properties) {
    const value = Object.hasOwn(stored, stored_as) ? stored[stored_as] : undefined
    if (value !== undefined) own[key] = value
    const shown = value ?? fallback_value
    if (shown !== null) merged[key] = shown
  }
  return { ...contact, own, properties: merged }
}
