import type { Payload } from './facts.ts'

/**
 * A run between two sets of steps.
 *
 * step           position in the graph
 * seq            number of the last step that it came to; from 1
 * wait_event     the event that it waits for
 * wait_until     when its wait ends
 * refused_since  when the email of its step was first refused
 * event          payload of the event that it waited for last; `consumed`: ids of all of them
 * has_sent, has_skipped  whether an email of it was sent, or left out
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

/** A step that was taken, or that the run waits in, by its number. */
export type StepRecord = {
  seq: number
  step: number
  status: 'waiting' | 'completed' | 'failed' | 'skipped'
  output: Payload | null
  error: string | null
}

/** `due`: when it is looked at again; null: without end. `unexpected`: an error of ours that has failed it. */
export type Advanced = {
  status: 'running' | 'completed' | 'failed' | 'skipped'
  due: Date | null
  error: string | null
  state: RunState
  steps: StepRecord[]
  unexpected?: unknown
}
