import type { ConfigOf } from '#lib/automations/steps.ts'
import type { Facts, Payload, RunContact } from './facts.ts'
import type { StepError } from './step_error.ts'

/** New values of a contact. Members that are left out stay as they are. */
export type ContactUpdate = {
  first_name?: string | null
  last_name?: string | null
  unsubscribed?: boolean
  properties?: Record<string, string | number | null>
}

/**
 * Something that a run needs before it can continue; requests of many runs are served together. `events`: events of the contact
 * that the run has not looked at in this wait. `is_first`: the run has just come to this step.
 */
export type Request =
  | { kind: 'events'; name: string; is_first: boolean; consumed: string[] }
  | { kind: 'email'; step: string; config: ConfigOf<'send_email'>; facts: Facts }
  | { kind: 'update'; update: ContactUpdate }
  | { kind: 'delete' }
  | { kind: 'segment'; segment_id: string; is_member: boolean }

/** An event of a contact. */
export type FoundEvent = { id: string; payload: Payload }

/**
 * The answer to a request.
 *
 * events   in the order of their ids. `is_full`: there may be more of them
 * done     with the contact as it is now, if it was changed
 * skipped  not done, for this reason
 * refused  not at the moment; `retry_after`: seconds after which it may succeed
 * busy     somebody else holds a lock that it needs: it is retried in a moment
 */
export type Answer =
  | { kind: 'events'; events: FoundEvent[]; is_full: boolean }
  | { kind: 'done'; output?: Payload; contact?: RunContact }
  | { kind: 'skipped'; reason: string }
  | { kind: 'refused'; error: StepError; retry_after: number | null }
  | { kind: 'busy' }
