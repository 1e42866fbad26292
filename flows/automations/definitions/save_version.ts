import { isDeepStrictEqual } from 'node:util'
import type { CampaignConfig } from '#flows/campaigns/check_campaign.ts'
import type { Graph } from '#lib/automations/graph.ts'
import type { StoredAutomation } from '#sql/automations/definitions/automation_records.ts'
import {
  type AutomationFields,
  type AutomationId,
  syncTrigger,
  updateAutomation,
  waitForEntries,
} from '#sql/automations/definitions/automations.ts'
import { deleteUnusedVersions, insertVersion } from '#sql/automations/definitions/versions.ts'
import type { Tx } from '#sql/pool.ts'
import { requireEnabled } from './check_enabled.ts'
import { checkReferences } from './check_references.ts'

/** Fields that are set separately from the graph. */
export type Settings = Pick<AutomationFields, 'name' | 'domain_id' | 'status' | 'reentry' | 'purpose'>

type Checked = { account_id: string; settings: Settings; graph: Graph }

/**
 * Checks a whole graph, and if the automation is enabled, that contacts can enter it. Returns the graph as stored.
 *
 * @throws {ApiError} 422 with the key of the step
 */
export async function checkGraph(
  tx: Tx,
  config: CampaignConfig,
  { account_id, settings, graph: given }: Checked,
): Promise<Graph> {
  const { domain_id, status, purpose } = settings
  const { graph, references } = await checkReferences(tx, { account_id, domain_id }, given)
  if (status === 'enabled') await requireEnabled(tx, config, { account_id, domain_id, purpose, graph, references })
  return graph
}

/** Returns the event that the trigger of a graph names; null if the graph has no steps yet. */
export function triggerOf({ steps: [trigger] }: Graph): string | null {
  return trigger?.type === 'trigger' ? trigger.config.event_name : null
}

/**
 * Stores the changes of a locked automation. A changed graph becomes a new version, for contacts that enter from now
 * on. Returns the graph as stored.
 *
 * @throws {ApiError} 422 with the key of the step
 */
export async function saveAutomation(
  tx: Tx,
  config: CampaignConfig,
  automation: AutomationId,
  before: StoredAutomation,
  { settings, graph }: { settings: Settings; graph: Graph },
): Promise<Graph> {
  const isBeingEnabled = settings.status === 'enabled' && before.status === 'disabled'
  const hasOtherPurposeOrDomain = settings.purpose !== before.purpose || settings.domain_id !== before.domain_id
  const isChecked = isBeingEnabled || hasOtherPurposeOrDomain || !isSame(graph, before.graph)
  const checked = isChecked ? await checkGraph(tx, config, { ...automation, settings, graph }) : before.graph
  const version = isSame(checked, before.graph) ? before.version : before.version + 1
  await updateAutomation(tx, automation, { ...settings, trigger: triggerOf(checked), version })
  if (version !== before.version) {
    await insertVersion(tx, automation, version, checked)
    // Otherwise what only the version before refers to could be deleted while a run of it is being started.
    await waitForEntries(tx, automation)
  }
  await syncTrigger(tx, automation)
  if (before.status === 'disabled') await deleteUnusedVersions(tx, automation, version)
  return checked
}

/** Compares as stored: JSON has no undefined members. */
function isSame(graph: Graph, stored: Graph): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(graph)), stored)
}
