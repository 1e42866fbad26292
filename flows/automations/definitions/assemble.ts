import { buildGraph, connectInTurn, type Graph, listConnections } from '#lib/automations/graph.ts'
import type { AutomationChange, NewAutomation } from '#lib/automations/new_automation.ts'
import type { Connection, Step } from '#lib/automations/new_step.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'

/** Key of the step that the short form `trigger` stands for. */
const TRIGGER_KEY = 'trigger'

type Given = Pick<NewAutomation, 'steps' | 'connections' | 'trigger'>

/** Makes the graph of what POST /automations is given. @throws {ApiError} 422 */
export function assembleGraph({ steps, connections, trigger }: Given): Graph {
  const all = withTrigger(steps ?? [], trigger ?? null)
  return buildGraph(all, connections ? fromTrigger(all, connections) : connectInTurn(all), newId)
}

/** Changes a graph by what PATCH /automations/:id is given. @throws {ApiError} 422 */
export function reassembleGraph(graph: Graph, { steps, connections, trigger }: AutomationChange): Graph {
  const all = withTrigger(steps ?? changeTrigger(graph, trigger ?? null), trigger ?? null)
  return rebuildGraph(graph, all, fromTrigger(all, connections ?? listConnections(graph)))
}

/** Makes another graph in place of one: a step keeps its id by its key. @throws {ApiError} 422 */
export function rebuildGraph(graph: Graph, steps: Step[], connections: Connection[]): Graph {
  const ids = new Map(graph.steps.map(({ key, id }) => [key, id]))
  return buildGraph(steps, connections, key => ids.get(key) ?? newId())
}

/** Puts the step that the short form stands for in front, unless there is a trigger. @throws {ApiError} 422 if it differs */
function withTrigger(steps: Step[], event_name: string | null): Step[] {
  const trigger = steps.find(step => step.type === 'trigger')
  if (event_name === null) return steps
  if (!trigger) return [{ key: TRIGGER_KEY, type: 'trigger', config: { event_name } }, ...steps]
  if (trigger.config.event_name === event_name) return steps
  throw new ApiError('validation_error', `\`trigger\` must be the \`event_name\` of the step \`${trigger.key}\`.`)
}

/** The steps of a graph, whose trigger has another event. */
function changeTrigger({ steps }: Graph, event_name: string | null): Step[] {
  if (event_name === null) return steps
  return steps.map(step => (step.type === 'trigger' ? { ...step, config: { event_name } } : step))
}

/** Connects the short form of a trigger, which no connection can name, with the first step. */
function fromTrigger(steps: Step[], connections: Connection[]): Connection[] {
  const [first, second] = steps
  const is_open = first?.key === TRIGGER_KEY && second && !connections.some(({ from }) => from === TRIGGER_KEY)
  return is_open ? [{ from: TRIGGER_KEY, to: second.key, type: 'default' }, ...connections] : connections
}
