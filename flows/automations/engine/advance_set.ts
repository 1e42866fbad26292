import { advanceRun, skipRun, withoutContact } from '#lib/automations/evaluate/advance_run.ts'
import type { Graph } from '#lib/automations/graph.ts'
import type { Log } from '#lib/log.ts'
import { type ActiveAutomation, keepAutomations, listDeleted } from '#sql/automations/engine/automations.ts'
import { type Claim, claimRuns, type DueRun, type StoredRun, storeRuns } from '#sql/automations/engine/runs.ts'
import { tellContacts } from '#sql/events/tell_contacts.ts'
import type { Tx } from '#sql/pool.ts'
import { readProperties, readRunContacts } from './read_contacts.ts'
import { graphKey, readGraphs } from './read_graphs.ts'
import { takeSteps } from './take_steps.ts'
import type { Walker } from './walker.ts'

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
    (await keepAutomations(tx, distinctAutomations(claimed))).map(one => [one.automation_id, one]),
  )
  const missing = distinctAutomations(claimed).filter(({ automation_id }) => !automations.has(automation_id))
  const ended = new Set(await listDeleted(tx, missing))
  const isStopped = ({ automation_id, version }: DueRun) =>
    ended.has(automation_id) || version <= (automations.get(automation_id)?.stopped_version ?? 0)
  const active = claimed.filter(run => automations.has(run.automation_id) && !isStopped(run))

  const walkers = await prepareWalkers(tx, active, automations)
  const together = {
    ...{ tx, simulator_domain: services.config.SIMULATOR_DOMAIN, deleted: new Set<string>(), unsubscribed: [] },
    ...{ properties: walkers.properties },
  }
  await takeSteps(together, walkers.all)
  const stored = [
    ...walkers.all.map(walker => toStored(walker, together.deleted, services.log)),
    ...claimed.filter(isStopped).map(run => ({ run, advanced: skipRun(run, STOPPED), seen_event: null })),
  ]
  await storeRuns(tx, stored)
  // Runs of this set may wait for this event too, so they must be stored before it is announced.
  for (const runs of Map.groupBy(together.unsubscribed, causeOf).values()) {
    const [{ account_id, automation_id, depth }] = runs as [DueRun]
    const contacts = runs.map(({ contact_id }) => contact_id)
    await tellContacts(tx, account_id, 'contact.unsubscribed', contacts, { automation_id, depth })
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

async function prepareWalkers(tx: Tx, runs: DueRun[], automations: Map<string, ActiveAutomation>) {
  const graphs = await readGraphs(tx, runs)
  const properties = await readProperties(
    tx,
    runs.map(({ account_id }) => account_id),
  )
  const contacts = await readRunContacts(tx, runs, properties)
  const all = runs.map((run): Walker => {
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

function toStored(walker: Walker, deleted: Set<string>, log: Log): StoredRun {
  const { run, advanced, seen_event } = walker
  if (!advanced) throw new Error(`The run ${run.id} has not come to an end.`)
  if (advanced.unexpected) log.error({ err: advanced.unexpected, run_id: run.id }, 'a step of a run failed')
  // Another run of this set has deleted its contact.
  if (deleted.has(run.contact_id) && advanced.status === 'running') {
    return { run, advanced: withoutContact(advanced), seen_event: null }
  }
  const { wait_event } = advanced.state
  const due = walker.is_unread && wait_event !== null ? run.due_at : advanced.due
  return { run, advanced: { ...advanced, due }, seen_event: wait_event === null ? null : seen_event }
}
