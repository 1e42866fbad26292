import { ApiError } from '#lib/errors.ts'
import { orList } from '#lib/json/requirements.ts'
import type { Connection, ConnectionType, Step } from './new_step.ts'
import { MAX_STEPS } from './new_step.ts'
import type { StepType } from './steps.ts'

/** The next step per type of connection, as a position in the graph. The run ends where a connection is missing. */
export type Next = Partial<Record<ConnectionType, number>>
export type GraphStep = Step & { id: string; next: Next }

/** The graph as automation_versions.graph stores it. The step at position 0 is the trigger; a draft may have no steps. */
export type Graph = { steps: GraphStep[] }

/** In characters of JSON. Limited because workers read the graph with each set of runs. */
const MAX_GRAPH = 1_000_000

const CONNECTIONS: Partial<Record<StepType, ConnectionType[]>> = {
  condition: ['condition_met', 'condition_not_met'],
  wait_for_event: ['event_received', 'timeout'],
  contact_delete: [],
}

/** Returns the types of the connections that may begin at a step of this type. */
export function connectionsOf(type: StepType): ConnectionType[] {
  return CONNECTIONS[type] ?? ['default']
}

/**
 * Builds the graph from steps and connections: the trigger first, the other steps in their order.
 *
 * @param idOf returns the id of a step by its key
 * @throws {ApiError} 422 if there is not exactly one trigger, a key is used twice, a connection fits no step, steps form a loop,
 *   or the trigger does not lead to a step
 */
export function buildGraph(given: Step[], connections: Connection[], idOf: (key: string) => string): Graph {
  if (given.length > MAX_STEPS) fail(`An automation can have at most ${MAX_STEPS} steps.`)
  const positions = placeSteps(given)
  const byPosition = [...given].sort((a, b) => Number(b.type === 'trigger') - Number(a.type === 'trigger'))
  const steps = byPosition.map(step => ({ ...step, id: idOf(step.key), next: {} }) as GraphStep)
  for (const connection of connections) connect(steps, positions, connection)
  checkPaths(steps)
  if (JSON.stringify(steps).length > MAX_GRAPH) {
    fail('The steps are larger than 1,000,000 characters of JSON together: keep long content in templates.')
  }
  return { steps }
}

/** Returns the connections of a graph, in the order of the steps they begin at and of their types. */
export function listConnections({ steps }: Graph): Connection[] {
  return steps.flatMap(({ key, type: stepType, next }) =>
    connectionsOf(stepType).flatMap(type => {
      const end = steps[next[type] ?? -1]
      return end ? [{ from: key, to: end.key, type }] : []
    }),
  )
}

/** Returns the connections of steps that were given without any: each step leads to the next one. */
export function connectInTurn(steps: Step[]): Connection[] {
  return steps.slice(1).map(({ key }, n) => ({ from: (steps[n] as Step).key, to: key, type: 'default' as const }))
}

/** Returns the position of each step by its key. */
function placeSteps(given: Step[]): Map<string, number> {
  const triggers = given.filter(({ type }) => type === 'trigger')
  if (given.length > 0 && triggers.length === 0) {
    fail('The automation has no trigger: give it a `trigger`, or a step of this type.')
  }
  if (triggers.length > 1) {
    const [one, another] = triggers as [Step, Step]
    fail(`The steps \`${one.key}\` and \`${another.key}\` are both triggers: an automation has only one.`)
  }
  const positions = new Map<string, number>()
  for (const { key } of [...triggers, ...given.filter(({ type }) => type !== 'trigger')]) {
    if (positions.has(key)) fail(`Two steps have the key \`${key}\`: each needs a key of its own.`)
    positions.set(key, positions.size)
  }
  return positions
}

function connect(steps: GraphStep[], positions: Map<string, number>, { from, to, type }: Connection): void {
  const start = steps[positions.get(from) ?? -1] ?? fail(`A connection begins at ${quote(from)}, which is not a step.`)
  const end = positions.get(to) ?? fail(`The step \`${from}\` has a connection to ${quote(to)}, which is not a step.`)
  if (end === 0) fail(`The step \`${from}\` has a connection to the trigger, which nothing may lead to.`)
  const types = connectionsOf(start.type)
  if (!types.includes(type)) {
    const allowed = types.length === 0 ? 'none, since the run ends there' : `only ${orList(types)}`
    fail(`The step \`${from}\` has a connection of type \`${type}\`: a \`${start.type}\` can have ${allowed}.`)
  }
  if (start.next[type] !== undefined) fail(`The step \`${from}\` has two connections of type \`${type}\`.`)
  start.next[type] = end
}

/** Follows all paths from the trigger. Rejects loops, which would never end, and steps that no path reaches. */
function checkPaths(steps: GraphStep[]): void {
  const states = new Map<GraphStep, 'entered' | 'left'>()
  const visit = (step: GraphStep) => {
    states.set(step, 'entered')
    for (const position of Object.values(step.next)) {
      const next = steps[position] as GraphStep
      if (states.get(next) === 'entered') {
        fail(`The step \`${step.key}\` leads back to \`${next.key}\`: steps cannot form a loop.`)
      }
      if (!states.has(next)) visit(next)
    }
    states.set(step, 'left')
  }
  if (steps[0]) visit(steps[0])
  const unreached = steps.find(step => !states.has(step))
  if (unreached) fail(`The step \`${unreached.key}\` cannot be reached from the trigger: connect it, or remove it.`)
}

function quote(key: string): string {
  return JSON.stringify(key.slice(0, 100))
}

function fail(message: string): never {
  throw new ApiError('validation_error', message)
}
