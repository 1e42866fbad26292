import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { sqlState } from './outage.ts'

/**
 * `silent`: no response at all. `refuses`: it responds but runs no statement, for example while it starts. `closed`: it serves
 * the connections that are open, but accepts no other.
 */
export type Health = 'serves' | 'closed' | 'refuses' | 'silent'

/** SQLSTATEs of refused connections that say nothing about open ones: too many of them, or the access of the role was changed. */
const DENIED = /^(53300|28...|42501|55000)$/

/**
 * Time is counted in ticks, so that a process that was suspended counts that as one tick and not as a silent Postgres.
 */
const TICK_MS = 250
const SUSPICIOUS_TICKS = 4
const PROBE_TICKS = 5
/** While a statement still runs, Postgres is probed again each time after this many ticks. */
const AGAIN_TICKS = 8

type Statement = { ticks: number; lose: (error: Error) => void }

/**
 * Distinguishes a slow Postgres from an unreachable one. TCP alone takes minutes to notice that packets are dropped,
 * and a statement may run for 15 s. So if a statement has no response for a second, Postgres is probed on a new
 * connection; if it stays silent and responds to no other statement meanwhile, all waiting statements are considered
 * lost.
 */
export class Watchdog {
  readonly #database_url: string
  readonly #running = new Set<Statement>()
  #timer: NodeJS.Timeout | undefined
  #probing: Promise<Health> | null = null
  #isSuspicious = false
  /** Result of the last probe. */
  isSilent = false
  /** Times of performance.now(): when Postgres last ran a statement, and when it was last found silent. */
  answered_at = performance.now()
  silent_at = Number.NEGATIVE_INFINITY

  constructor(database_url: string) {
    this.#database_url = database_url
  }

  /** Resolves or rejects with the statement, or rejects if Postgres becomes silent meanwhile. */
  async watch<T>(run: () => Promise<T>): Promise<T> {
    const lost = Promise.withResolvers<never>()
    const statement = { ticks: 0, lose: lost.reject }
    this.#running.add(statement)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref()
    try {
      const result = await Promise.race([run(), lost.promise])
      this.answered_at = performance.now()
      return result
    } finally {
      this.#running.delete(statement)
    }
  }

  /** Returns false while Postgres is known to be silent: a new connection would only hang. */
  async mayConnect(): Promise<boolean> {
    return !this.isSilent || (await this.probe()) !== 'silent'
  }

  /** Probes Postgres; concurrent calls share the result. */
  probe(): Promise<Health> {
    const asked_at = performance.now()
    this.#probing ??= probe(this.#database_url).then(found => {
      this.#probing = null
      // Under load a new connection may take long while existing ones still get responses.
      const health = found === 'silent' && this.answered_at > asked_at ? 'serves' : found
      this.isSilent = health === 'silent'
      if (health === 'silent') this.silent_at = performance.now()
      if (health === 'serves') this.answered_at = performance.now()
      return health
    })
    return this.#probing
  }

  #tick(): void {
    if (this.#running.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      this.#isSuspicious = false
      return
    }
    for (const statement of this.#running) {
      const late = ++statement.ticks - SUSPICIOUS_TICKS
      if (late >= 0 && late % AGAIN_TICKS === 0) this.#isSuspicious = true
    }
    if (!this.#isSuspicious || this.#probing) return
    this.#isSuspicious = false
    void this.#check([...this.#running])
  }

  async #check(statements: Statement[]): Promise<void> {
    if ((await this.probe()) !== 'silent') return
    for (const { lose } of statements) lose(new Error('Postgres does not reply'))
  }
}

/** Probes Postgres on a separate connection. Takes at most 1.3 s. */
export async function probe(database_url: string): Promise<Health> {
  const client = new pg.Client({ connectionString: database_url, application_name: 'mailbrook probe' })
  client.on('error', () => {}) // the pending call rejects with it
  const enough = new AbortController()
  try {
    return await Promise.race([ask(client), ticks(PROBE_TICKS, enough.signal).then(() => 'silent' as const)])
  } finally {
    enough.abort()
    cutOff(client)
  }
}

async function ask(client: pg.Client): Promise<Health> {
  try {
    await client.connect()
    await client.query('SELECT 1')
    return 'serves'
  } catch (error) {
    const state = sqlState(error)
    return state === null ? 'silent' : DENIED.test(state) ? 'closed' : 'refuses'
  }
}

async function ticks(count: number, signal: AbortSignal): Promise<void> {
  for (let n = 0; n < count && !signal.aborted; n++) await sleep(TICK_MS)
}

/**
 * Closes a connection in an unknown state at once, by RST, which discards undelivered data: otherwise a statement that
 * reaches Postgres only after the network is back would run although its caller has got an error. A socket that still
 * connects has sent nothing, and would send RST only once it is connected.
 */
export function cutOff(client: pg.Client | pg.PoolClient): void {
  const stream = (client as pg.Client).connection.stream as Socket
  if (stream.connecting) {
    stream.destroy()
    return
  }
  try {
    stream.resetAndDestroy()
  } catch {
    stream.destroy() // a TLS socket cannot send RST
  }
}
