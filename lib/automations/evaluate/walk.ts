import type { GraphStep } from '#lib/automations/graph.ts'
import type { Payload } from './facts.ts'
import type { Advanced, RunState, StepRecord } from './run_state.ts'
import { StepError } from './step_error.ts'
import type { Taken } from './take_step.ts'

/** How long an email that was refused for a temporary reason is retried. */
const PATIENCE_MS = 72 * 60 * 60 * 1_000
const MIN_RETRY_MS = 30_000
const MAX_RETRY_MS = 15 * 60_000
/** Pause before a retry if a lock is held, which takes only moments. */
const BUSY_MS = 1_000

/** The state of a run, and a record of each step that it takes. */
export class Walk {
  readonly state: RunState
  readonly #steps: StepRecord[] = []
  readonly #now: Date

  constructor(run: RunState, now: Date) {
    const { step, seq, wait_event, wait_until, refused_since, event, consumed, has_sent, has_skipped } = run
    this.state = {
      ...{ step, seq, wait_event, wait_until, refused_since, event, has_sent, has_skipped },
      consumed: [...consumed],
    }
    this.#now = now
  }

  /** The run entered its current step earlier, so the step has a number already. */
  get is_resumed(): boolean {
    const { wait_event, wait_until, refused_since } = this.state
    return wait_event !== null || wait_until !== null || refused_since !== null
  }

  /** Records the result of a step. Returns null if the run continues with its next step. */
  note(step: GraphStep, taken: Taken): Advanced | null {
    const { state } = this
    switch (taken.kind) {
      case 'done':
        if (taken.event) {
          state.event = taken.event.payload
          state.consumed.push(taken.event.id)
        }
        state.has_sent ||= taken.is_sent ?? false
        return this.#leave(step, 'completed', taken.output, step.next[taken.way])
      case 'skipped':
        state.has_skipped = true
        return this.#leave(step, 'skipped', { reason: taken.reason }, step.next.default)
      case 'wait':
        if (!this.is_resumed) this.#record('waiting', taken.until && { until: taken.until.toISOString() })
        Object.assign(state, { wait_event: taken.event, wait_until: taken.until })
        return this.pause(taken.is_due ? this.#now : taken.until)
      case 'refused':
        return this.#retry(taken)
      case 'busy':
        return this.pause(new Date(this.#now.getTime() + BUSY_MS))
      case 'deleted':
        this.#record('completed', null)
        Object.assign(state, NOT_WAITING)
        return this.end('completed')
    }
  }

  pause(due: Date | null): Advanced {
    return { status: 'running', due, error: null, state: this.state, steps: this.#steps }
  }

  end(status: 'completed' | 'skipped', error: string | null = null): Advanced {
    // The step in which it waits will not be taken.
    if (this.is_resumed) this.#record('skipped', null)
    Object.assign(this.state, NOT_WAITING)
    return { status, due: null, error, state: this.state, steps: this.#steps }
  }

  fail(error: unknown): Advanced {
    const isExpected = error instanceof StepError
    const message = isExpected ? error.message : 'internal_server_error: The step could not be taken.'
    this.#record('failed', null, message)
    Object.assign(this.state, NOT_WAITING)
    const failed = { status: 'failed' as const, due: null, error: message, state: this.state, steps: this.#steps }
    return isExpected ? failed : { ...failed, unexpected: error }
  }

  #retry({ error, retry_after }: Extract<Taken, { kind: 'refused' }>): Advanced {
    const { state } = this
    const since = state.refused_since ?? this.#now
    const waited = this.#now.getTime() - since.getTime()
    if (waited >= PATIENCE_MS) return this.fail(error)
    this.#record('waiting', null, error.message)
    state.refused_since = since
    const wait = Math.max(waited / 4, MIN_RETRY_MS, (retry_after ?? 0) * 1_000)
    return this.pause(new Date(this.#now.getTime() + Math.min(wait, MAX_RETRY_MS)))
  }

  #leave(step: GraphStep, status: 'completed' | 'skipped', output: Payload | null, next: number | undefined) {
    if (step.type !== 'trigger') this.#record(status, output)
    Object.assign(this.state, NOT_WAITING)
    if (next === undefined) return this.end(this.state.has_skipped && !this.state.has_sent ? 'skipped' : 'completed')
    this.state.step = next
    return null
  }

  #record(status: StepRecord['status'], output: Payload | null, error: string | null = null): void {
    const { state } = this
    if (!this.is_resumed) state.seq++
    this.#steps.push({ seq: state.seq, step: state.step, status, output, error })
  }
}

const NOT_WAITING = { wait_event: null, wait_until: null, refused_since: null }
