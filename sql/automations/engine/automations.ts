import { z } from 'zod'
import type { Graph } from '#lib/automations/graph.ts'
import { sql, type Tx } from '#sql/pool.ts'
import { uuids } from './uuids.ts'

type AutomationId = { account_id: string; automation_id: string }

const Active = z.object({
  account_id: z.string(),
  automation_id: z.string(),
  purpose: z.enum(['marketing', 'transactional']),
  stopped_version: z.int(),
})
export type ActiveAutomation = z.infer<typeof Active>

/**
 * Locks automations against being stopped or deleted until the transaction ends. Automations that are being stopped or
 * deleted, or were deleted, are missing; `listDeleted` returns the deleted ones.
 */
export async function lockAutomations(tx: Tx, ids: AutomationId[]): Promise<ActiveAutomation[]> {
  return tx.any(sql.prepared('lock_automations', Active)`
    SELECT a.account_id, a.id AS automation_id, a.purpose, a.stopped_version
    FROM unnest(${uuids(ids, 'account_id')}, ${uuids(ids, 'automation_id')}) AS w(account_id, id)
    CROSS JOIN LATERAL (
      SELECT * FROM automations a WHERE a.account_id = w.account_id AND a.id = w.id FOR KEY SHARE SKIP LOCKED
    ) a
  `)
}

const Deleted = z.object({ automation_id: z.string() })

/** Returns which of these automations no longer exist. */
export async function listDeleted(tx: Tx, ids: AutomationId[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await tx.any(sql.type(Deleted)`
    SELECT w.id AS automation_id FROM unnest(${uuids(ids, 'account_id')}, ${uuids(ids, 'automation_id')}) AS w(account_id, id)
    WHERE NOT EXISTS (SELECT FROM automations a WHERE a.account_id = w.account_id AND a.id = w.id)
  `)
  return rows.map(({ automation_id }) => automation_id)
}

export type VersionId = AutomationId & { version: number }

/** A version with its graph, as lib/automations/graph.ts built it. */
const Version = z.object({
  account_id: z.string(),
  automation_id: z.string(),
  version: z.int(),
  graph: z.custom<Graph>(),
})

export async function listVersions(tx: Tx, ids: VersionId[]): Promise<z.infer<typeof Version>[]> {
  if (ids.length === 0) return []
  const versions = sql.array(
    ids.map(({ version }) => version),
    'int4',
  )
  return tx.any(sql.type(Version)`
    SELECT v.account_id, v.automation_id, v.version, v.graph
    FROM unnest(${uuids(ids, 'account_id')}, ${uuids(ids, 'automation_id')}, ${versions}) AS w(account_id, automation_id, version)
    JOIN automation_versions v ON v.account_id = w.account_id AND v.automation_id = w.automation_id AND v.version = w.version
  `)
}
