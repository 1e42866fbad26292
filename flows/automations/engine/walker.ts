import type { Answer, Request } from '#lib/automations/evaluate/requests.ts'
import type { Advanced } from '#lib/automations/evaluate/run_state.ts'
import type { ActiveAutomation } from '#sql/automations/engine/automations.ts'
import type { DueRun } from '#sql/automations/engine/runs.ts'
import type { Tx } from '#sql/pool.ts'
import type { Properties } from './read_contacts.ts'

/** A run on its way through its steps. */
export type Walker = {
  run: DueRun
  automation: ActiveAutomation
  steps: Generator<Request, Advanced, Answer>
  /** The request that it waits for; null: it has come to the end of its way. */
  request: Request | null
  advanced: Advanced | null
  /** The last event that it has looked at while it waits. */
  seen_event: string | null
}

/** A run that asks for something of one kind. */
export type Asking<Kind extends Request['kind']> = Walker & { request: Extract<Request, { kind: Kind }> }

/** Shared by the runs of one transaction. `deleted`, `unsubscribed`: contacts to which one of them has done that. */
export type Together = {
  tx: Tx
  simulator_domain: string
  properties: Properties
  deleted: Set<string>
  unsubscribed: DueRun[]
}
