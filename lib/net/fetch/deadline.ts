import { PatientTimer } from '#lib/async/patient_timer.ts'

/** A signal that aborts after `ms` milliseconds, or with another signal, unless it is cleared first. */
export class Deadline {
  readonly #stop = new AbortController()
  readonly #timer: PatientTimer
  /** The caller's signal. */
  readonly #given: AbortSignal | undefined
  readonly #giveUp = () => this.#stop.abort(this.#given?.reason)

  constructor(ms: number, given?: AbortSignal) {
    this.#given = given
    const lateError = () => new DOMException(`not done within ${ms} ms`, 'TimeoutError')
    this.#timer = new PatientTimer(ms, () => this.#stop.abort(lateError()))
    given?.addEventListener('abort', this.#giveUp)
    if (given?.aborted) this.#giveUp()
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  clear(): void {
    this.#timer.clear()
    this.#given?.removeEventListener('abort', this.#giveUp)
  }
}
