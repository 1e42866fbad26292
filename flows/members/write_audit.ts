import { newId } from '#lib/ids.ts'
import { insertAuditEntry } from '#sql/members/audit_log.ts'
import type { Queryable } from '#sql/pool.ts'

export type Change = {
  account_id: string
  actor: 'member' | 'api_key' | 'operator'
  actor_id: string | null
  actor_name: string
  client_address: string | null
  action: string
  target: string | null
}

const MAX_TEXT = 500

/** Records who changed what. */
export async function writeAudit(db: Queryable, change: Change): Promise<void> {
  const [actor_name, target] = [change.actor_name.slice(0, MAX_TEXT), change.target?.slice(0, MAX_TEXT) ?? null]
  await insertAuditEntry(db, { ...change, id: newId(), actor_name, target })
}
