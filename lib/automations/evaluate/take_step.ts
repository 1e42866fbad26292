import type { GraphStep } from '#lib/automations/graph.ts'
import type { ConnectionType } from '#lib/automations/new_step.ts'
import type { ConfigOf } from '#lib/automations/steps.ts'
import { contactFields } from '#lib/contacts/new_contact.ts'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import { endOfDelay, secondsOf } from './end_of_delay.ts'
import { type Facts, type Payload, resolve } from './facts.ts'
import { matches } from './matches.ts'
import type { Answer, ContactUpdate, Request } from './requests.ts'
import { StepError } from './step_error.ts'

/**
 * The state of a run at a step. `is_resumed`: the run entered the step earlier, and `wait_until` is when its wait ends (null:
 * never).
 */
export type StepContext = {
  facts: Facts
  purpose: 'marketing' | 'transactional'
  now: Date
  consumed: string[]
  is_resumed: boolean
  wait_until: Date | null
}

/**
 * The result of a step.
 *
 * done  `way`: the type of the connection to follow; `event`: the event that the step waited for
 * wait  until this time (null: without end), or for an event; `is_due`: there are more events to look at
 */
export type Taken =
  | {
      kind: 'done'
      way: ConnectionType
      output: Payload | null
      event?: { id: string; payload: Payload }
      is_sent?: boolean
    }
  | { kind: 'wait'; until: Date | null; event: string | null; is_due: boolean }
  | Exclude<Answer, { kind: 'done' | 'events' }>
  | { kind: 'deleted' }

type Steps = Generator<Request, Taken, Answer>

/** Takes one step of a run. @throws {StepError} if it cannot be taken */
export function* takeStep(step: GraphStep, place: StepContext): Steps {
  switch (step.type) {
    case 'trigger':
      return goOn()
    case 'condition':
      return branch(matches(step.config, place.facts) ? 'condition_met' : 'condition_not_met')
    case 'delay':
      return delay(step.config, place)
    case 'wait_for_event':
      return yield* waitForEvent(step.config, place)
    case 'send_email':
      return yield* sendEmail(step, place)
    case 'contact_update':
      return yield* act({ kind: 'update', update: updateOf(step.config, place.facts) }, place)
    case 'contact_delete': {
      const taken = yield* act({ kind: 'delete' }, place)
      return taken.kind === 'done' ? { kind: 'deleted' } : taken
    }
    case 'add_to_segment':
      return yield* act({ kind: 'segment', ...step.config, is_member: true }, place)
    case 'remove_from_segment':
      return yield* act({ kind: 'segment', ...step.config, is_member: false }, place)
  }
}

function goOn(output: Payload | null = null): Taken {
  return { kind: 'done', way: 'default', output }
}

function branch(way: ConnectionType): Taken {
  return { kind: 'done', way, output: { result: way } }
}

/** Waits until the end that was computed when the run entered the step, even if something wakes the run earlier. */
function delay(config: ConfigOf<'delay'>, { facts, now, is_resumed, wait_until }: StepContext): Taken {
  if (!is_resumed) {
    const until = endOfDelay(config, now, facts.contact.timezone)
    return { kind: 'wait', until, event: null, is_due: false }
  }
  if (wait_until !== null && wait_until > now) return { kind: 'wait', until: wait_until, event: null, is_due: false }
  return goOn()
}

/** An event wins over the timeout, even if both have happened when the run is looked at. */
function* waitForEvent(config: ConfigOf<'wait_for_event'>, place: StepContext): Steps {
  const { event_name: name, timeout, filter_rule } = config
  const { now, is_resumed, consumed, facts } = place
  const answer = yield { kind: 'events', name, is_first: !is_resumed, consumed }
  if (answer.kind !== 'events') throw new TypeError(`Events were asked for, not ${answer.kind}.`)
  const isWaitedFor = (payload: Payload) =>
    !filter_rule || matches(filter_rule, { ...facts, payload: {}, event: payload })
  const event = answer.events.find(({ payload }) => isWaitedFor(payload))
  if (event)
    return { ...branch('event_received'), output: { result: 'event_received', event_id: event.id }, event } as Taken
  const timeoutAt = timeout === null ? null : new Date(now.getTime() + secondsOf(timeout) * 1_000)
  const until = is_resumed ? place.wait_until : timeoutAt
  if (!answer.is_full && until !== null && until <= now) return branch('timeout')
  return { kind: 'wait', until, event: name, is_due: answer.is_full }
}

function* sendEmail({ key, config }: GraphStep & { type: 'send_email' }, place: StepContext): Steps {
  const { facts, purpose } = place
  if (facts.contact.unsubscribed && purpose === 'marketing') return { kind: 'skipped', reason: 'unsubscribed' }
  const taken = yield* act({ kind: 'email', step: key, config, facts }, place)
  return taken.kind === 'done' ? { ...taken, is_sent: true } : taken
}

function* act(request: Request, { facts }: StepContext): Steps {
  const answer = yield request
  if (answer.kind === 'events') throw new TypeError('Events were not asked for.')
  if (answer.kind !== 'done') return answer
  if (answer.contact) facts.contact = answer.contact
  return goOn(answer.output)
}

/** Leaves out members that refer to a missing value. @throws {StepError} for a value that does not fit */
function updateOf({ properties = {}, ...config }: ConfigOf<'contact_update'>, facts: Facts): ContactUpdate {
  const given = (values: object) =>
    Object.entries(values)
      .map(([key, value]) => [key, resolve(value, facts)] as const)
      .filter(([, value]) => value !== undefined)
  const update = Object.fromEntries(given(config))
  for (const name of ['first_name', 'last_name']) {
    if (name in update && update[name] !== null) update[name] = oneLine(name, update[name])
  }
  if ('unsubscribed' in update && typeof update.unsubscribed !== 'boolean') {
    throw new StepError('validation_error', 'The value of `unsubscribed` is neither true nor false.')
  }
  const values = given(properties).map(([key, value]) => [key, propertyValue(key, value)] as const)
  return { ...update, ...(values.length > 0 ? { properties: Object.fromEntries(values) } : {}) }
}

function oneLine(name: string, value: unknown): string {
  const { data } = contactFields.first_name.safeParse(typeof value === 'number' ? String(value) : value)
  if (typeof data === 'string') return data
  throw new StepError('validation_error', `The value of \`${name}\` is not one line of up to 255 characters.`)
}

function propertyValue(key: string, value: unknown): string | number | null {
  if (value === null) return value
  const { data } = PropertyValue.safeParse(typeof value === 'boolean' ? String(value) : value)
  if (data !== undefined) return data
  throw new StepError('validation_error', `The value of \`properties.${key}\` is neither a number nor a short text.`)
}
