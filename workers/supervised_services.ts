import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from '#flows/process/run_process.ts'
import { Restarts } from '#lib/async/restarts.ts'
import type { Config } from '#lib/config.ts'
import { AlreadyLoggedError } from '#lib/errors.ts'
import type { Log } from '#lib/log.ts'
import { probe } from '#sql/watchdog.ts'

/** The settings that are sent to the process of the services. */
export type SentSettings = Pick<Config, 'DATABASE_URL' | 'SECRET_KEY'>
/** The message that the process sends back once it runs. */
export const STARTED = 'started'

const FILE = join(import.meta.dirname, 'services.ts')
const PAUSE_MS = 200

/**
 * A process of services that is started again when it ends. In production a supervisor does that; `npm start` has none, and the
 * job queue gives up if Postgres ends during a job.
 */
export class SupervisedServices implements Running {
  readonly #settings: SentSettings
  readonly #log: Log
  readonly #restarts = new Restarts()
  readonly #leaving = new AbortController()
  readonly #failure = Promise.withResolvers<never>()
  #child: ChildProcess
  #supervision: Promise<void>

  /** @throws {AlreadyLoggedError} if it cannot start at all, so that starting it again would not help */
  static async start({ DATABASE_URL, SECRET_KEY }: Config, log: Log): Promise<SupervisedServices> {
    const services = new SupervisedServices({ DATABASE_URL, SECRET_KEY }, log)
    if (!(await starts(services.#child))) throw new AlreadyLoggedError()
    services.#supervision = services.#supervise()
    return services
  }

  private constructor(settings: SentSettings, log: Log) {
    this.#settings = settings
    this.#log = log
    this.#child = this.#fork()
    this.#supervision = Promise.resolve()
    this.#failure.promise.catch(() => {})
    process.once('exit', this.#endWithUs)
  }

  get failed(): Promise<never> {
    return this.#failure.promise
  }

  async stop(): Promise<void> {
    this.#leaving.abort()
    this.#child.kill('SIGTERM')
    await this.#supervision
    process.off('exit', this.#endWithUs)
    if (this.#child.exitCode !== 0) throw new AlreadyLoggedError()
  }

  async #supervise(): Promise<void> {
    const { signal } = this.#leaving
    for (;;) {
      await ended(this.#child)
      if (signal.aborted) return this.#failure.reject(new AlreadyLoggedError())
      const pause_ms = this.#restarts.next()
      if (pause_ms === null) {
        this.#log.fatal('the process of the services has ended several times in a row and is not started again')
        return this.#failure.reject(new AlreadyLoggedError())
      }
      this.#log.error({ pause_ms }, 'the process of the services has ended and is started again')
      await this.#untilServed(pause_ms).catch(() => {})
      if (signal.aborted) return
      this.#child = this.#fork()
      if (await starts(this.#child)) this.#restarts.started()
    }
  }

  #fork(): ChildProcess {
    const child = fork(FILE)
    child.on('error', error => this.#log.error({ err: error }, 'the process of the services cannot be reached'))
    if (child.pid !== undefined) child.send(this.#settings)
    return child
  }

  /** Waits until the database responds: without it, the process would end again immediately. */
  async #untilServed(pause_ms: number): Promise<void> {
    const { signal } = this.#leaving
    await sleep(pause_ms, undefined, { signal })
    while ((await probe(this.#settings.DATABASE_URL as string)) !== 'serves')
      await sleep(PAUSE_MS, undefined, { signal })
  }

  /** Ends the child if this process exits without `stop`. */
  readonly #endWithUs = () => this.#child.kill('SIGKILL')
}

/** Resolves to true once the child has started, and to false if it ends instead. */
async function starts(child: ChildProcess): Promise<boolean> {
  const { promise: started, resolve } = Promise.withResolvers<boolean>()
  // With --watch, Node sends messages of its own here.
  child.on('message', message => {
    if (message === STARTED) resolve(true)
  })
  return Promise.race([started, ended(child).then(() => false)])
}

/** Resolves once the child has ended, or could not be started at all: then it has no pid and does not exit. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const { promise, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  await promise
}
