import { buildGraph, connectInTurn, type Graph, listConnections } from '#lib/automations/graph.ts'
import type { AutomationChange, NewAutomation } from '#lib/automations/new_automation.ts'
import type { Connection, Step } from '#lib/automations/new_step.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'

/** Key of the trigger step that the short form `trigger` adds. */
const TRIGGER_KEY = 'trigger'

type Given = Pick<NewAutomation, 'steps' | 'connections' | 'trigger'>

/** Builds a graph from the body of POST /automations. @throws {ApiError} 422 */
export function assembleGraph({ steps, connections, trigger }: Given): Graph {
  const all = withTrigger(steps ?? [], trigger ?? null)
  return buildGraph(all, connections ? fromTrigger(all, connections) : connectInTurn(all), newId)
}

/** Applies the body of PATCH /automations/:id to a graph. @throws {ApiError} 422 */
export function reassembleGraph(graph: Graph, { steps, connections, trigger }: AutomationChange): Graph {
  const all = withTrigger(steps ?? changeTrigger(graph, trigger ?? null), trigger ?? null)
  return rebuildGraph(graph, all, fromTrigger(all, connections ?? listConnections(graph)))
}

/** Builds a graph that replaces another; steps with the same key keep their ids. @throws {ApiError} 422 */
export function rebuildGraph(graph: Graph, steps: Step[], connections: Connection[]): Graph {
  const ids = new Map(graph.steps.map(({ key, id }) => [key, id]))
  return buildGraph(steps, connections, key => ids.get(key) ?? newId())
}

/** Prepends the trigger step of the short form unless there is a trigger. @throws {ApiError} 422 if the two differ */
function withTrigger(steps: Step[], event_name: string | null): Step[] {
  const trigger = steps.find(step => step.type === 'trigger')
  if (event_name === null) return steps
  if (!trigger) return [{ key: TRIGGER_KEY, type: 'trigger', config: { event_name } }, ...steps]
  if (trigger.config.event_name === event_name) return steps
  throw new ApiError('validation_error', `\`trigger\` must be the \`event_name\` of the step \`${trigger.key}\`.`)
}

/** Returns the steps of a graph with another trigger event. */
function changeTrigger({ steps }: Graph, event_name: string | null): Step[] {
  if (event_name === null) return steps
  return steps.map(step => (step.type === 'trigger' ? { ...step, config: { event_name } } : step))
}

/** Connects a trigger of the short form with the first step, unless a given connection starts at it. */
function fromTrigger(steps: Step[], connections: Connection[]): Connection[] {
  const [first, second] = steps
  const is_open = first?.key === TRIGGER_KEY && second && !connections.some(({ from }) => from === TRIGGER_KEY)
  return is_open ? [{ from: TRIGGER_KEY, to: second.key, type: 'default' }, ...connections] : connections
}
