import type { AutomationStatus, Purpose, Reentry } from '#lib/automations/new_automation.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { columns, ListedAutomation, listedColumns, StoredAutomation } from './automation_records.ts'

export type AutomationId = { account_id: string; id: string }

/** Automations without those of a deleted domain, whose rows may still exist. */
const withDomain = sql.fragment`automations a JOIN domains d ON d.account_id = a.account_id AND d.id = a.domain_id`
const withGraph = sql.fragment`
  ${withDomain}
  JOIN automation_versions v ON v.account_id = a.account_id AND v.automation_id = a.id AND v.version = a.version
`

export type AutomationFilter = { status?: AutomationStatus | undefined; domain_id?: string | undefined }

export async function listAutomations(
  db: Queryable,
  account_id: string,
  { status, domain_id }: AutomationFilter,
  position: Position,
): Promise<Page<ListedAutomation>> {
  const conditions = [
    status === undefined ? sql.fragment`true` : sql.fragment`a.status = ${status}`,
    domain_id === undefined ? sql.fragment`true` : sql.fragment`a.domain_id = ${domain_id}`,
  ]
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedAutomation)`
      SELECT * FROM (
        SELECT ${listedColumns} FROM ${withDomain}
        WHERE a.account_id = ${account_id} AND ${sql.join(conditions, sql.fragment` AND `)}
      ) AS listed
      WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findAutomation(
  db: Queryable,
  { account_id, id }: AutomationId,
): Promise<StoredAutomation | null> {
  return db.maybeOne(sql.type(StoredAutomation)`
    SELECT ${columns} FROM ${withGraph} WHERE a.account_id = ${account_id} AND a.id = ${id}
  `)
}

export async function isAutomation(db: Queryable, { account_id, id }: AutomationId): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM ${withDomain} WHERE a.account_id = ${account_id} AND a.id = ${id}`)
}

/**
 * Locks an automation against other changes until the transaction ends, and with `for_end` also against workers that
 * advance its runs (0054_automation_definitions.sql). Contacts can enter until `syncTrigger` removes its trigger.
 * Returns null if it does not exist.
 */
export async function lockAutomation(
  tx: Tx,
  { account_id, id }: AutomationId,
  { for_end = false } = {},
): Promise<StoredAutomation | null> {
  const strength = for_end ? sql.fragment`UPDATE` : sql.fragment`NO KEY UPDATE`
  await tx.run(sql.unsafe`SELECT FROM automations WHERE account_id = ${account_id} AND id = ${id} FOR ${strength}`)
  return findAutomation(tx, { account_id, id })
}

/** Fields of an automation that a caller chooses, and the event of its trigger. */
export type AutomationFields = {
  name: string
  domain_id: string
  status: AutomationStatus
  reentry: Reentry
  purpose: Purpose
  trigger: string | null
  version: number
}

export async function insertAutomation(
  tx: Tx,
  { account_id, id, source_id }: AutomationId & { source_id: string | null },
  fields: AutomationFields,
): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO automations (account_id, id, source_id, domain_id, name, status, reentry, purpose, event, version)
    VALUES (${account_id}, ${id}, ${source_id}, ${fields.domain_id}, ${fields.name}, ${fields.status}, ${fields.reentry},
      ${fields.purpose}, ${fields.trigger}, ${fields.version})
  `)
}

export async function updateAutomation(
  tx: Tx,
  { account_id, id }: AutomationId,
  fields: AutomationFields,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE automations SET domain_id = ${fields.domain_id}, name = ${fields.name}, status = ${fields.status},
      reentry = ${fields.reentry}, purpose = ${fields.purpose}, event = ${fields.trigger}, version = ${fields.version},
      updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/**
 * Updates the triggers of an automation to match its row: one for its event while it is enabled, none otherwise. Waits
 * for transactions that start runs by a removed trigger; later ones start none.
 */
export async function syncTrigger(tx: Tx, { account_id, id }: AutomationId): Promise<void> {
  const wanted = sql.fragment`
    SELECT account_id, domain_id, event, id FROM automations
    WHERE account_id = ${account_id} AND id = ${id} AND status = 'enabled' AND event IS NOT NULL
  `
  await tx.run(sql.unsafe`
    DELETE FROM automation_triggers t WHERE t.account_id = ${account_id} AND t.automation_id = ${id}
      AND (t.account_id, t.domain_id, t.event, t.automation_id) NOT IN (${wanted})
  `)
  await tx.run(sql.unsafe`
    INSERT INTO automation_triggers (account_id, domain_id, event, automation_id) ${wanted} ON CONFLICT DO NOTHING
  `)
}

/**
 * Waits for transactions that start runs of an automation; later ones start runs of the version that this transaction has
 * stored. So whoever sees its commit sees all runs of earlier versions.
 */
export async function waitForEntries(tx: Tx, { account_id, id }: AutomationId): Promise<void> {
  await tx.run(sql.unsafe`
    SELECT FROM automation_triggers WHERE account_id = ${account_id} AND automation_id = ${id} FOR UPDATE
  `)
}

/** Deletes an automation with its versions and triggers; a job removes its runs (clear_runs.ts). */
export async function deleteAutomation(tx: Tx, { account_id, id }: AutomationId): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM automations WHERE account_id = ${account_id} AND id = ${id}`)
}
