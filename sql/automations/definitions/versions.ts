import type { Graph } from '#lib/automations/graph.ts'
import { sql, type Tx } from '#sql/pool.ts'
import type { AutomationId } from './automations.ts'

/** Stops all versions up to this one: their runs are no longer advanced, and a job ends them (clear_runs.ts). */
export async function stopVersions(tx: Tx, { account_id, id }: AutomationId, stopped_version: number): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE automations SET stopped_version = ${stopped_version} WHERE account_id = ${account_id} AND id = ${id}
  `)
}

export async function insertVersion(
  tx: Tx,
  { account_id, id }: AutomationId,
  version: number,
  graph: Graph,
): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO automation_versions (account_id, automation_id, version, graph)
    VALUES (${account_id}, ${id}, ${version}, ${JSON.stringify(graph)}::jsonb)
  `)
}

/** Deletes the versions before this one if the automation has no run. Must be called while no contact can enter. */
export async function deleteUnusedVersions(tx: Tx, { account_id, id }: AutomationId, version: number): Promise<void> {
  await tx.run(sql.unsafe`
    DELETE FROM automation_versions v
    WHERE v.account_id = ${account_id} AND v.automation_id = ${id} AND v.version < ${version}
      AND NOT EXISTS (SELECT FROM automation_runs r WHERE r.account_id = ${account_id} AND r.automation_id = ${id})
  `)
}
