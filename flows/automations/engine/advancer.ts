import { coalesce } from '#lib/async/coalesce.ts'
import type { Config } from '#lib/config.ts'
import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { advanceRuns } from './advance_runs.ts'

/** `poll_ms`: how often due runs are looked for. A delay ends so much later at most, and a run of a worker that died goes on. */
export type AutomationTimes = { poll_ms: number }

export const AUTOMATION_TIMES: AutomationTimes = { poll_ms: 1_000 }

type Dependencies = { pool: Pool; log: Log; config: Config; times?: AutomationTimes }

/** Everybody who asks while runs are advanced is served by the next pass. */
const CALLERS = 1_000

/**
 * Takes the steps of runs: of those that an event has started or woken when it is told of them, and of those whose delay ends by
 * polling. A worker process has one, which works on one set at a time; those of several processes pass by what another has
 * locked. There is no lease: the lock of a worker that dies is gone with its connection.
 */
export class Advancer {
  readonly #log: Log
  readonly #poll_ms: number
  /** Takes all steps that are due. */
  readonly advance: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #isStopping = false

  constructor({ pool, log, config, times = AUTOMATION_TIMES }: Dependencies) {
    this.#log = log
    this.#poll_ms = times.poll_ms
    const pass = async () => {
      if (!this.#isStopping) await advanceRuns({ pool, log, config }, () => this.#isStopping)
    }
    const advance = coalesce<null, void>(
      async callers => {
        await pass()
        return callers.map(() => undefined)
      },
      { in_flight: 1, max_items: CALLERS },
    )
    this.advance = () => advance(null)
  }

  /** Starts looking for due runs without being told of them. */
  start(): void {
    this.#timer = setInterval(() => this.nudge(), this.#poll_ms)
  }

  /** Has the steps that are due taken, without waiting for that: if it fails, polling finds them. */
  nudge(): void {
    this.advance().catch(err => this.#log.error({ err }, 'due runs of automations could not go on'))
  }

  /** Ends after the set that is under way. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.advance().catch(() => {})
  }
}
