import { setTimeout as sleep } from 'node:timers/promises'
import { type RestartLimits, Restarts } from '#lib/async/restarts.ts'
import { StartupError } from '#lib/errors.ts'
import { cutOff } from '#sql/watchdog.ts'
import type { Cluster } from './cluster.ts'
import { type Server, type Settings, signal } from './server.ts'
import { join, type Membership } from './session.ts'

type Options = { settings?: Settings; restarts?: RestartLimits; onRestart?: (ms: number, reason: string) => void }

/**
 * Keeps a server running. If it ends, it is started again on the same port, since that is all its users know. The session that
 * holds our locks notices the end. It is opened again if Postgres has only ended all sessions, as it does when one of them
 * crashes.
 */
export class Keeper {
  readonly #cluster: Cluster
  readonly #options: Options
  readonly #restarts: Restarts
  readonly #leaving = new AbortController()
  readonly #failure = Promise.withResolvers<never>()
  #membership: Membership
  #recovering = Promise.resolve()

  constructor(cluster: Cluster, membership: Membership, options: Options) {
    this.#cluster = cluster
    this.#membership = membership
    this.#options = options
    this.#restarts = new Restarts(options.restarts)
    this.#failure.promise.catch(() => {})
    process.once('exit', this.#endWithUs)
    this.#watch()
  }

  get failed(): Promise<never> {
    return this.#failure.promise
  }

  async stop(end: (server: Server) => Promise<void>): Promise<void> {
    this.#leaving.abort()
    await this.#recovering
    await end(this.#membership.server)
    process.off('exit', this.#endWithUs)
    cutOff(this.#membership.client) // a backend that hangs would never end the session
  }

  #watch(): void {
    this.#membership.client.once('end', () => {
      if (!this.#leaving.signal.aborted) this.#recovering = this.#recover()
    })
  }

  async #recover(): Promise<void> {
    const { settings, onRestart } = this.#options
    const { port } = this.#membership.server
    const { signal } = this.#leaving
    for (let reason = 'its connection was lost'; ; ) {
      const pause = this.#restarts.next()
      if (pause === null) return this.#failure.reject(new StartupError(`Postgres does not stay up: ${reason}`))
      onRestart?.(pause, reason)
      try {
        await sleep(pause, undefined, { signal })
        this.#membership = await join(this.#cluster, { settings, port, signal })
        this.#restarts.started()
        return this.#watch()
      } catch (error) {
        if (signal.aborted) return
        reason = (error as Error).message
      }
    }
  }

  /** Ends the server if the process exits without `stop`. */
  readonly #endWithUs = () => signal(this.#membership.server.pid, 'SIGINT')
}
