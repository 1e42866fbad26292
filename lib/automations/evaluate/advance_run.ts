import type { Graph } from '#lib/automations/graph.ts'
import type { Payload, RunContact } from './facts.ts'
import type { Answer, Request } from './requests.ts'
import type { Advanced, RunState } from './run_state.ts'
import { StepError } from './step_error.ts'
import { takeStep } from './take_step.ts'
import { Walk } from './walk.ts'

export type Surroundings = {
  graph: Graph
  contact: RunContact | null
  payload: Payload
  purpose: 'marketing' | 'transactional'
  now: Date
}

/** Maximum number of steps that a run takes before other runs get their turn. */
const MAX_STEPS_AT_ONCE = 20

/**
 * Takes the steps of a run that can be taken now. Yields a request for anything it needs, and is resumed with the answer. Never
 * throws: an error in a step fails the run.
 */
export function* advanceRun(run: RunState, surroundings: Surroundings): Generator<Request, Advanced, Answer> {
  const { graph, contact, payload, purpose, now } = surroundings
  if (!contact) return skipRun(run, DELETED)
  const walk = new Walk(run, now)
  const facts = { contact, payload, event: run.event }
  for (let taken = 0; taken < MAX_STEPS_AT_ONCE; taken++) {
    const step = graph.steps[walk.state.step]
    try {
      if (!step) throw new StepError('internal_server_error', 'The automation has no such step.')
      const { consumed, wait_until } = walk.state
      const result = yield* takeStep(step, { facts, purpose, now, consumed, wait_until, is_resumed: walk.is_resumed })
      const ended = walk.note(step, result)
      if (ended) return ended
    } catch (error) {
      return walk.fail(error)
    }
    facts.event = walk.state.event
  }
  return walk.pause(now)
}

const DELETED = 'The contact was deleted.'

/** Ends a run that cannot continue, and the step at which it waits. */
export function skipRun(run: RunState, reason: string): Advanced {
  return new Walk(run, new Date(0)).end('skipped', reason)
}

/** Ends a run whose contact was deleted by somebody else after these steps were taken. */
export function withoutContact(advanced: Advanced): Advanced {
  const steps = advanced.steps.filter(({ status }) => status !== 'waiting')
  const ended = skipRun(advanced.state, DELETED)
  return { ...ended, steps: [...steps, ...ended.steps] }
}
