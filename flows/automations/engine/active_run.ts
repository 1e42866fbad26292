import type { Answer, Request } from '#lib/automations/evaluate/requests.ts'
import type { Advanced } from '#lib/automations/evaluate/run_state.ts'
import type { ActiveAutomation } from '#sql/automations/engine/automations.ts'
import type { DueRun } from '#sql/automations/engine/runs.ts'
import type { Tx } from '#sql/pool.ts'
import type { Properties } from './read_contacts.ts'

/** A run while its steps are taken. */
export type ActiveRun = {
  run: DueRun
  automation: ActiveAutomation
  steps: Generator<Request, Advanced, Answer>
  /** The request that the run waits for; null before it starts and once it has ended. */
  request: Request | null
  advanced: Advanced | null
  /** The last event that the run has looked at while it waits. */
  seen_event: string | null
  /** There are events that it could not look at yet. It keeps its due time, so it comes before runs that had their turn. */
  is_unread: boolean
}

/** A run that waits for a request of this kind. */
export type RequestingRun<Kind extends Request['kind']> = ActiveRun & { request: Extract<Request, { kind: Kind }> }

/**
 * Shared by the runs of one transaction. `deleted`: contacts that one of them has deleted. `unsubscribed`: runs that
 * have unsubscribed their contact.
 */
export type SharedState = {
  tx: Tx
  simulator_domain: string
  properties: Properties
  deleted: Set<string>
  unsubscribed: DueRun[]
}
