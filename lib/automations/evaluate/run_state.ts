import type { Payload } from './facts.ts'

/**
 * A run between two sets of steps.
 *
 * step           position in the graph
 * seq            number of the last step that the run reached; from 1
 * wait_event     name of the event that it waits for
 * wait_until     when the wait ends
 * refused_since  when the email of this step was first refused
 * event          payload of the last event that it waited for; `consumed`: ids of all of them
 * has_sent, has_skipped  whether an email of the run was sent, or skipped
 */
export type RunState = {
  step: number
  seq: number
  wait_event: string | null
  wait_until: Date | null
  refused_since: Date | null
  event: Payload | null
  consumed: string[]
  has_sent: boolean
  has_skipped: boolean
}

/** A step, by its number, that was taken or that the run waits in. */
export type StepRecord = {
  seq: number
  step: number
  status: 'waiting' | 'completed' | 'failed' | 'skipped'
  output: Payload | null
  error: string | null
}

/**
 * The result of `advanceRun`. `due`: when the run is looked at again; null: at no set time. `unexpected`: an internal error that
 * failed the run.
 */
export type Advanced = {
  status: 'running' | 'completed' | 'failed' | 'skipped'
  due: Date | null
  error: string | null
  state: RunState
  steps: StepRecord[]
  unexpected?: unknown
}
