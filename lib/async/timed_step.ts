import { PatientTimer } from './patient_timer.ts'

export class DeadlineError extends Error {}

/** Lets a step change its own deadline. */
export type Deadline = {
  /** Calls `act` after `ms` instead of failing the step. */
  restart: (ms: number, act: () => void) => void
  /** Fails the step; `ms`, the time that it had, is part of the message. */
  expire: (ms: number) => void
  ignoreSignal: () => void
}

/** A step of a conversation that fails after `ms`, when the signal is aborted, or by `fail`. `onFail` is called first. */
export class TimedStep<T> {
  readonly #signal: AbortSignal
  readonly #onFail: () => void
  readonly #ended = Promise.withResolvers<T>()
  readonly #onAbort = () => this.fail(new Error('stopped'))
  #timer: PatientTimer
  #isOver = false

  constructor(ms: number, signal: AbortSignal, onFail: () => void) {
    this.#signal = signal
    this.#onFail = onFail
    this.#timer = new PatientTimer(ms, () => this.#expire(ms))
  }

  run(step: (deadline: Deadline) => Promise<T>): Promise<T> {
    if (this.#signal.aborted) this.#onAbort()
    else {
      this.#signal.addEventListener('abort', this.#onAbort)
      step({
        restart: (ms, act) => {
          this.#timer.clear()
          this.#timer = new PatientTimer(ms, act)
        },
        expire: ms => this.#expire(ms),
        ignoreSignal: () => this.#signal.removeEventListener('abort', this.#onAbort),
      })
        .then(this.#ended.resolve, this.#ended.reject)
        .finally(() => this.#settle())
    }
    return this.#ended.promise
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#settle()
    this.#onFail()
    this.#ended.reject(error)
  }

  #expire(ms: number): void {
    this.fail(new DeadlineError(`no reply in ${Math.round(ms / 1000)} s`))
  }

  #settle(): void {
    this.#isOver = true
    this.#timer.clear()
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}
