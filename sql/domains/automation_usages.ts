import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** JSON paths of references in the steps of an automation to rows that can be deleted. */
const paths = {
  segment: sql.fragment`'$.steps[*].config ? (@.segment_id == $ref)'`,
  topic: sql.fragment`'$.steps[*].config ? (@.topic_id == $ref)'`,
  template: sql.fragment`'$.steps[*].config.template ? (@.id == $ref)'`,
}
export type AutomationPart = keyof typeof paths

const ofProperty = sql.fragment`jsonb_path_exists(v.graph, 'strict $.** ? (@.field == $ref || @.var == $ref)',
  jsonb_build_object('ref', 'contact.properties.' || p.key), true)
  OR jsonb_path_exists(v.graph, '$.steps[*] ? (@.type == "contact_update").config.properties.keyvalue() ? (@.key == $ref)',
  jsonb_build_object('ref', p.key), true)`

const User = z.object({ name: z.string(), is_enabled: z.boolean() })
/** `is_enabled`: contacts enter the version that uses the row; otherwise, they are only still in runs of such a version. */
export type AutomationUser = z.infer<typeof User>

/**
 * Finds an automation with a version that refers to a row, if it is the one that contacts enter or has runs that have
 * not ended. The runs of each automation are read once, however many versions it has.
 */
async function findUser(
  db: Queryable,
  account_id: string,
  refers: ReturnType<typeof sql.fragment>,
): Promise<AutomationUser | null> {
  return db.maybeOne(sql.type(User)`
    WITH users AS MATERIALIZED (
      SELECT a.id, a.name, array_agg(v.version) AS versions,
        bool_or(a.status = 'enabled' AND v.version = a.version) AS is_enabled
      FROM automations a
      JOIN automation_versions v ON v.account_id = a.account_id AND v.automation_id = a.id AND v.version > a.stopped_version
      WHERE a.account_id = ${account_id} AND (${refers})
      GROUP BY a.account_id, a.id
    )
    SELECT u.name, u.is_enabled FROM users u
    WHERE u.is_enabled OR EXISTS (
      SELECT FROM automation_runs r
      WHERE r.account_id = ${account_id} AND r.automation_id = u.id AND r.status = 'running' AND r.version = ANY (u.versions)
    )
    ORDER BY u.is_enabled DESC, u.id LIMIT 1
  `)
}

/**
 * Returns an automation that uses a row, or null. Must be called after the row was locked: enabling an automation locks
 * it too.
 */
export async function findAutomationUsing(
  db: Queryable,
  account_id: string,
  part: AutomationPart,
  id: string,
): Promise<AutomationUser | null> {
  const refers = sql.fragment`jsonb_path_exists(v.graph, ${paths[part]}, jsonb_build_object('ref', ${id}::text), true)`
  return findUser(db, account_id, refers)
}

/** Returns an automation that reads or writes a contact property, or null. */
export async function findAutomationWithProperty(
  db: Queryable,
  account_id: string,
  property_id: string,
): Promise<AutomationUser | null> {
  const refers = sql.fragment`EXISTS (
    SELECT FROM contact_properties p
    WHERE p.account_id = a.account_id AND p.id = ${property_id} AND p.deleted_at IS NULL AND (${ofProperty})
  )`
  return findUser(db, account_id, refers)
}

export async function hasAutomations(db: Queryable, account_id: string, domain_id: string): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM automations WHERE account_id = ${account_id} AND domain_id = ${domain_id}`)
}

/** Locks the automations of a domain until the transaction ends, and waits for workers that take steps of their runs. */
export async function lockAutomationsOf(tx: Tx, account_id: string, domain_id: string): Promise<void> {
  await tx.run(sql.unsafe`
    SELECT FROM automations WHERE account_id = ${account_id} AND domain_id = ${domain_id} ORDER BY id FOR UPDATE
  `)
}

/** Deletes the automations of a deleted domain; returns how many. A job removes their runs (tasks/clear_runs.ts). */
export async function deleteAutomations(tx: Tx, account_id: string, domain_id: string): Promise<number> {
  return tx.run(sql.unsafe`
    WITH deleted AS (
      DELETE FROM automations WHERE account_id = ${account_id} AND domain_id = ${domain_id} RETURNING id
    )
    INSERT INTO automation_clearings (account_id, automation_id) SELECT ${account_id}, id FROM deleted
    ON CONFLICT (account_id, automation_id) DO NOTHING
  `)
}
