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

const Name = z.object({ name: z.string() })

/** Automations with the version that contacts enter. */
const enabled = sql.fragment`
  automations a
  JOIN automation_versions v ON v.account_id = a.account_id AND v.automation_id = a.id AND v.version = a.version
`

/**
 * Returns the name of an enabled automation that refers to a row, or null. Must be called after the row was locked:
 * enabling an automation locks it too.
 */
export async function findAutomationUsing(
  db: Queryable,
  account_id: string,
  part: AutomationPart,
  id: string,
): Promise<string | null> {
  const found = await db.maybeOne(sql.type(Name)`
    SELECT a.name FROM ${enabled}
    WHERE a.account_id = ${account_id} AND a.status = 'enabled'
      AND jsonb_path_exists(v.graph, ${paths[part]}, jsonb_build_object('ref', ${id}::text), true)
    ORDER BY a.id LIMIT 1
  `)
  return found?.name ?? null
}

/** Returns the name of an enabled automation that reads or writes a contact property, or null. */
export async function findAutomationWithProperty(
  db: Queryable,
  account_id: string,
  property_id: string,
): Promise<string | null> {
  const found = await db.maybeOne(sql.type(Name)`
    SELECT a.name FROM ${enabled}
    JOIN contact_properties p ON p.account_id = a.account_id AND p.id = ${property_id} AND p.deleted_at IS NULL
    WHERE a.account_id = ${account_id} AND a.status = 'enabled' AND (${ofProperty})
    ORDER BY a.id LIMIT 1
  `)
  return found?.name ?? null
}

export async function hasAutomations(db: Queryable, account_id: string, domain_id: string): Promise<boolean> {
  const { found } = await db.one(sql.type(z.object({ found: z.boolean() }))`
    SELECT EXISTS (SELECT FROM automations WHERE account_id = ${account_id} AND domain_id = ${domain_id}) AS found
  `)
  return found
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
