import type { CampaignConfig } from '#flows/campaigns/check_campaign.ts'
import { type AutomationChange, MAX_NAME, type NewAutomation } from '#lib/automations/new_automation.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import {
  type Automation,
  type StoredAutomation,
  showAutomation,
} from '#sql/automations/definitions/automation_records.ts'
import {
  type AutomationId,
  deleteAutomation,
  findAutomation,
  insertAutomation,
  lockAutomation,
  syncTrigger,
} from '#sql/automations/definitions/automations.ts'
import { addClearing } from '#sql/automations/definitions/clear_runs.ts'
import { lockOwnDomain } from '#sql/automations/definitions/references.ts'
import { insertVersion } from '#sql/automations/definitions/versions.ts'
import { countRuns } from '#sql/automations/runs.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { assembleGraph, reassembleGraph } from './assemble.ts'
import { checkGraph, type Settings, saveAutomation, triggerOf } from './save_version.ts'

export type Dependencies = { pool: Pool; config: CampaignConfig }

/** The account that creates an automation, and the id of its API key. */
export type Author = { account_id: string; source_id: string | null }

/** @throws {ApiError} 404 */
export async function showAutomationWithRuns(db: Queryable, automation: AutomationId): Promise<Automation> {
  const found = orNotFound('Automation', await findAutomation(db, automation))
  return showAutomation(found, await countRuns(db, automation))
}

/** Stores an automation. @throws {ApiError} 422 with the key of the step */
export async function createAutomation(
  tx: Tx,
  config: Dependencies['config'],
  author: Author,
  domain_id: string,
  given: NewAutomation,
): Promise<Automation> {
  const { name, status, reentry, purpose } = given
  const settings: Settings = {
    name,
    domain_id,
    status: status ?? 'disabled',
    reentry: reentry ?? 'always',
    purpose: purpose ?? 'marketing',
  }
  const graph = assembleGraph(given)
  const { account_id } = author
  return insertFirst(tx, author, settings, await checkGraph(tx, config, { account_id, settings, graph }))
}

/**
 * Changes the given fields. Contacts in a run stay on the version that they entered.
 *
 * @throws {ApiError} 404; 422 if the domain of an enabled automation would change, or with the key of the faulty step
 */
export async function changeAutomation(
  { pool, config }: Dependencies,
  automation: AutomationId,
  change: AutomationChange,
  domain_id: string | null,
): Promise<void> {
  await changing(pool, async tx => {
    const before = orNotFound('Automation', await lockAutomation(tx, automation))
    const settings = changedSettings(before, change, domain_id)
    const { steps, connections, trigger } = change
    const graph = steps || connections || trigger ? reassembleGraph(before.graph, change) : before.graph
    await saveAutomation(tx, config, automation, before, { settings, graph })
  })
}

/** Creates a disabled copy of an automation, named `Copy of …` by default. @throws {ApiError} 404 */
export async function copyAutomation(
  tx: Tx,
  author: Author,
  id: string,
  name: string | null | undefined,
): Promise<Automation> {
  const original = orNotFound('Automation', await findAutomation(tx, { account_id: author.account_id, id }))
  const { domain_id, reentry, purpose } = original
  orNotFound('Automation', await lockOwnDomain(tx, author.account_id, domain_id))
  const settings: Settings = {
    name: name ?? `Copy of ${original.name}`.slice(0, MAX_NAME).toWellFormed(),
    ...({ domain_id, status: 'disabled', reentry, purpose } as const),
  }
  return insertFirst(tx, author, settings, { steps: original.graph.steps.map(step => ({ ...step, id: newId() })) })
}

/** Deletes an automation at once: its runs take no further step, and a job removes them. @throws {ApiError} 404 */
export async function removeAutomation(pool: Pool, automation: AutomationId): Promise<void> {
  await changing(pool, async tx => {
    orNotFound('Automation', await lockAutomation(tx, automation, { for_end: true }))
    await deleteAutomation(tx, automation)
    await addClearing(tx, automation)
  })
}

/**
 * Retries a change that Postgres aborts: events lock triggers and automations in another order, so the two may
 * deadlock.
 */
export function changing<T>(pool: Pool, change: (tx: Tx) => Promise<T>): Promise<T> {
  return retryConflicts(() => pool.transaction(change))
}

async function insertFirst(
  tx: Tx,
  { account_id, source_id }: Author,
  settings: Settings,
  graph: StoredAutomation['graph'],
): Promise<Automation> {
  const automation = { account_id, id: newId() }
  await insertAutomation(tx, { ...automation, source_id }, { ...settings, trigger: triggerOf(graph), version: 1 })
  await insertVersion(tx, automation, 1, graph)
  await syncTrigger(tx, automation)
  return showAutomationWithRuns(tx, automation)
}

function changedSettings(before: StoredAutomation, change: AutomationChange, domain_id: string | null): Settings {
  const settings: Settings = {
    name: change.name ?? before.name,
    domain_id: domain_id ?? before.domain_id,
    status: change.status ?? before.status,
    reentry: change.reentry ?? before.reentry,
    purpose: change.purpose ?? before.purpose,
  }
  if (settings.domain_id === before.domain_id || before.status === 'disabled') return settings
  throw new ApiError('validation_error', 'The domain of an enabled automation cannot be changed: disable it first.')
}
