import { advanceRun, skipRun, withoutContact } from '#lib/automations/evaluate/advance_run.ts'
import type { Graph } from '#lib/automations/graph.ts'
import type { Log } from '#lib/log.ts'
import { type ActiveAutomation, listDeleted, lockAutomations } from '#sql/automations/engine/automations.ts'
import { type Claim, claimRuns, type DueRun, type StoredRun, storeRuns } from '#sql/automations/engine/runs.ts'
import { emitContactEvents } from '#sql/events/emit_contact_events.ts'
import type { Tx } from '#sql/pool.ts'
import type { ActiveRun } from './active_run.ts'
import { readProperties, readRunContacts } from './read_contacts.ts'
import { graphKey, readGraphs } from './read_graphs.ts'
import { takeSteps } from './take_steps.ts'

export type EngineServices = { log: Log; config: { SIMULATOR_DOMAIN: string } }

/**
 * `left`: how many of the claimed runs stay due because their automation is being changed. `has_more`: other runs may be due.
 */
export type AdvancedSet = { claimed: DueRun[]; left: number; has_more: boolean }

/**
 * Advances a set of runs. The steps, their effects and the state of the runs are one commit: if a process dies, a step
 * has been taken with all its effects or not at all.
 *
 * All reads, and the drafting of emails, happen in that transaction after the runs are locked. So no data that decides
 * a step is older than the step before it, and nothing has to be compared before the commit. Slow work happens
 * elsewhere: contents are frozen once and cached, and messages are composed when they are sent.
 *
 * @param onClaimed called with the claimed runs, even if the transaction fails afterwards
 */
export async function advanceSet(
  tx: Tx,
  services: EngineServices,
  claim: Claim,
  onClaimed: (claimed: DueRun[]) => void,
): Promise<AdvancedSet> {
  const { runs: claimed, has_more } = await claimRuns(tx, claim)
  onClaimed(claimed)
  if (claimed.length === 0) return { claimed, left: 0, has_more }
  const automations = new Map(
    (await lockAutomations(tx, distinctAutomations(claimed))).map(one => [one.automation_id, one]),
  )
  const missing = distinctAutomations(claimed).filter(({ automation_id }) => !automations.has(automation_id))
  const ended = new Set(await listDeleted(tx, missing))
  const isStopped = ({ automation_id, version }: DueRun) =>
    ended.has(automation_id) || version <= (automations.get(automation_id)?.stopped_version ?? 0)
  const active = claimed.filter(run => automations.has(run.automation_id) && !isStopped(run))

  const activeRuns = await prepareRuns(tx, active, automations)
  const shared = {
    ...{ tx, simulator_domain: services.config.SIMULATOR_DOMAIN, deleted: new Set<string>(), unsubscribed: [] },
    properties: activeRuns.properties,
  }
  await takeSteps(shared, activeRuns.all)
  const stored = [
    ...activeRuns.all.map(activeRun => toStored(activeRun, shared.deleted, services.log)),
    ...claimed.filter(isStopped).map(run => ({ run, advanced: skipRun(run, STOPPED), seen_event: null })),
  ]
  await storeRuns(tx, stored)
  // Runs of this set may wait for this event too, so they must be stored before it is announced.
  for (const runs of Map.groupBy(shared.unsubscribed, causeOf).values()) {
    const [{ account_id, automation_id, depth }] = runs as [DueRun]
    const contacts = runs.map(({ contact_id }) => contact_id)
    await emitContactEvents(tx, account_id, 'contact.unsubscribed', contacts, { automation_id, depth })
  }
  return { claimed, left: claimed.length - stored.length, has_more }
}

function causeOf({ account_id, automation_id, depth }: DueRun): string {
  return `${account_id} ${automation_id} ${depth}`
}

function distinctAutomations(runs: DueRun[]) {
  return [
    ...new Map(runs.map(({ account_id, automation_id }) => [automation_id, { account_id, automation_id }])).values(),
  ]
}

async function prepareRuns(tx: Tx, runs: DueRun[], automations: Map<string, ActiveAutomation>) {
  const graphs = await readGraphs(tx, runs)
  const properties = await readProperties(
    tx,
    runs.map(({ account_id }) => account_id),
  )
  const contacts = await readRunContacts(tx, runs, properties)
  const all = runs.map((run): ActiveRun => {
    const automation = automations.get(run.automation_id) as ActiveAutomation
    const graph = graphs.get(graphKey(run)) ?? NO_GRAPH
    const contact = contacts.get(run.contact_id) ?? null
    const steps = advanceRun(run, { graph, contact, payload: run.payload, purpose: automation.purpose, now: run.now })
    return { run, automation, steps, request: null, advanced: null, seen_event: run.seen_event, is_unread: false }
  })
  return { all, properties }
}

const STOPPED = 'The automation was stopped.'

/** Stands in for the graph of a missing version, so that its runs fail. */
const NO_GRAPH: Graph = { steps: [] }

function toStored(activeRun: ActiveRun, deleted: Set<string>, log: Log): StoredRun {
  const { run, advanced, seen_event } = activeRun
  if (!advanced) throw new Error(`The run ${run.id} has not come to an end.`)
  if (advanced.unexpected) log.error({ err: advanced.unexpected, run_id: run.id }, 'a step of a run failed')
  // Another run of this set has deleted its contact.
  if (deleted.has(run.contact_id) && advanced.status === 'running') {
    return { run, advanced: withoutContact(advanced), seen_event: null }
  }
  const { wait_event } = advanced.state
  const due = activeRun.is_unread && wait_event !== null ? run.due_at : advanced.due
  return { run, advanced: { ...advanced, due }, seen_event: wait_event === null ? null : seen_event }
}
