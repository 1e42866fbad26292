import { coalesce } from '#lib/async/coalesce.ts'
import type { Config } from '#lib/config.ts'
import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { advanceRuns } from './advance_runs.ts'

/**
 * `poll_ms`: interval at which due runs are looked for. A delay ends at most this much late, and the runs of a dead
 * worker resume within it.
 */
export type AutomationTimes = { poll_ms: number }

export const AUTOMATION_TIMES: AutomationTimes = { poll_ms: 1_000 }

type Dependencies = { pool: Pool; log: Log; config: Config; times?: AutomationTimes }

/** Maximum number of callers that share one pass. Calls made during a pass are served by the next one. */
const CALLERS = 1_000

/**
 * Advances runs: when nudged, those that an event has started or woken, and by polling, those whose delay has ended.
 * Each worker process has one Advancer, which works on one set at a time and skips runs that another process has
 * locked. There is no lease: the locks of a worker that dies end with its connection.
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

  /** Starts polling for due runs. */
  start(): void {
    this.#timer = setInterval(() => this.nudge(), this.#poll_ms)
  }

  /** Advances due runs in the background; if that fails, polling retries them. */
  nudge(): void {
    this.advance().catch(err => this.#log.error({ err }, 'due runs of automations could not be advanced'))
  }

  /** Stops polling and waits for the current set. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.advance().catch(() => {})
  }
}
