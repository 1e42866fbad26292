import { connectionsOf, type Graph, type GraphStep, listConnections } from '#lib/automations/graph.ts'
import {
  type AddedStep,
  type Connection,
  type ConnectionType,
  NewStep,
  type Step,
  type StepChange,
} from '#lib/automations/new_step.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { type AutomationStep, showStep } from '#sql/automations/definitions/automation_records.ts'
import { type AutomationId, lockAutomation } from '#sql/automations/definitions/automations.ts'
import type { Tx } from '#sql/pool.ts'
import { rebuildGraph } from './assemble.ts'
import { changing, type Dependencies } from './change_automation.ts'
import { saveAutomation } from './save_version.ts'

/** Inserts a step after another; the step that followed now follows the new one. @throws {ApiError} 404; 422 */
export async function addStep(
  tx: Tx,
  config: Dependencies['config'],
  automation: AutomationId,
  { after, connection_type, ...given }: AddedStep,
): Promise<AutomationStep> {
  let added: string | undefined
  const graph = await changeGraph(tx, config, automation, before => {
    const step = parse(NewStep, { ...given, key: given.key ?? freeKey(before) })
    added = step.key
    const last = after ? findStep(before, after) : lastStep(before)
    const connections = last
      ? insertBehind(listConnections(before), step, { from: last.key, type: connection_type ?? 'default' })
      : []
    return { steps: [...before.steps, step], connections }
  })
  return showStep(graph.steps.find(step => step.key === added) as GraphStep)
}

/** Changes the type or the config of a step, which keeps its key. Returns its id. @throws {ApiError} 404; 422 */
export async function changeStep(
  services: Dependencies,
  automation: AutomationId,
  ref: string,
  { key, type, config }: StepChange,
): Promise<string> {
  let id = ''
  await changeAlone(services, automation, before => {
    const found = findStep(before, ref)
    id = found.id
    if (key !== undefined && key !== found.key) throw new ApiError('validation_error', '`key` cannot be changed.')
    const step = parse(NewStep, { key: found.key, type: type ?? found.type, config: config ?? found.config })
    return { steps: before.steps.map(one => (one === found ? step : one)), connections: listConnections(before) }
  })
  return id
}

/**
 * Removes a step; connections to it then lead to the step after it. Returns its id. @throws {ApiError} 404; 422 for the
 * trigger
 */
export async function removeStep(services: Dependencies, automation: AutomationId, ref: string): Promise<string> {
  let id = ''
  await changeAlone(services, automation, before => {
    const removed = findStep(before, ref)
    id = removed.id
    if (removed.type === 'trigger') throw new ApiError('validation_error', 'The trigger cannot be removed: change it.')
    const connections = listConnections(before)
    const next = connections.find(({ from, type }) => from === removed.key && type === 'default')
    const rest = connections
      .filter(({ from }) => from !== removed.key)
      .flatMap(one => (one.to !== removed.key ? [one] : next ? [{ ...one, to: next.to }] : []))
    return { steps: before.steps.filter(step => step !== removed), connections: rest }
  })
  return id
}

/** One way out of a step, by the keys of steps; `to` null: a run that goes this way ends there. */
type Way = { from: string; type: ConnectionType; to: string | null }

/** Changes the step to which a way out of a step leads. @throws {ApiError} 404; 422 */
export async function connectStep(
  services: Dependencies,
  automation: AutomationId,
  { from, type, to }: Way,
): Promise<void> {
  await changeAlone(services, automation, before => {
    const others = listConnections(before).filter(one => one.from !== from || one.type !== type)
    const connections = to === null ? others : [...others, { from, type, to }]
    return { steps: before.steps, connections }
  })
}

type Change = (graph: Graph) => { steps: Step[]; connections: Connection[] }

function changeAlone({ pool, config }: Dependencies, automation: AutomationId, change: Change): Promise<Graph> {
  return changing(pool, tx => changeGraph(tx, config, automation, change))
}

async function changeGraph(
  tx: Tx,
  config: Dependencies['config'],
  automation: AutomationId,
  change: Change,
): Promise<Graph> {
  const before = orNotFound('Automation', await lockAutomation(tx, automation))
  const { steps, connections } = change(before.graph)
  const graph = rebuildGraph(before.graph, steps, connections)
  return saveAutomation(tx, config, automation, before, { settings: before, graph })
}

/** Finds a step by its id or its key. @throws {ApiError} 404 */
function findStep({ steps }: Graph, ref: string): GraphStep {
  return orNotFound(
    'Step',
    steps.find(({ id, key }) => key === ref || id === ref.toLowerCase()),
  )
}

/** Returns the last step along the default connections; undefined if there is no step. */
function lastStep({ steps }: Graph): GraphStep | undefined {
  let step = steps[0]
  while (step?.next.default !== undefined) step = steps[step.next.default]
  return step
}

function insertBehind(
  connections: Connection[],
  step: Step,
  { from, type }: Pick<Connection, 'from' | 'type'>,
): Connection[] {
  const before = connections.find(one => one.from === from && one.type === type)
  const others = connections.filter(one => one !== before)
  const added = { from, to: step.key, type }
  if (!before) return [...others, added]
  const [first] = connectionsOf(step.type)
  if (!first) {
    throw new ApiError('validation_error', `The run ends at a \`${step.type}\`: \`${before.to}\` cannot come after it.`)
  }
  return [...others, added, { from: step.key, to: before.to, type: first }]
}

function freeKey({ steps }: Graph): string {
  const keys = new Set(steps.map(({ key }) => key))
  let n = steps.length
  while (keys.has(`step_${n}`)) n++
  return `step_${n}`
}
