import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

export const AuditEntry = z
  .object({
    object: z.literal('audit_entry'),
    id: z.string(),
    actor: z
      .enum(['member', 'api_key', 'operator'])
      .describe('Kind of the actor. `operator`: somebody who used the admin command on the server.'),
    actor_id: z.string().nullable().describe('Id of the member or of the API key.'),
    actor_name: z.string().describe('Name of the actor at that time.'),
    client_address: z.string().nullable().describe('IP address that the request came from.'),
    action: z.string().describe('Operation of the API, such as `updateDomain`, or command of the operator.'),
    target: z.string().nullable().describe('Path of what was changed.'),
    created_at: z.date(),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof AuditEntry>

export type NewAuditEntry = Omit<AuditEntry, 'object' | 'created_at'> & { account_id: string }

export async function insertAuditEntry(db: Queryable, entry: NewAuditEntry): Promise<void> {
  const { account_id, id, actor, actor_id, actor_name, client_address, action, target } = entry
  await db.run(sql.unsafe`
    INSERT INTO audit_log (account_id, id, actor, actor_id, actor_name, client_address, action, target)
    VALUES (${account_id}, ${id}, ${actor}, ${actor_id}, ${actor_name}, ${client_address}, ${action}, ${target})
  `)
}

export async function listAuditEntries(
  db: Queryable,
  account_id: string,
  position: Position,
): Promise<Page<AuditEntry>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(AuditEntry)`
      SELECT 'audit_entry' AS object, id, actor, actor_id, actor_name, client_address, action, target, created_at
      FROM audit_log WHERE account_id = ${account_id} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}
