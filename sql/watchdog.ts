import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { sqlState } from './outage.ts'

/** `silent`: there is no reply at all; `refuses`: it replies, but runs no statement, as while it starts. */
export type Health = 'serves' | 'refuses' | 'silent'

/** Time is counted in ticks, so that a process that stood still takes that for one tick and not for a silent Postgres. */
const TICK_MS = 250
const SUSPICIOUS_TICKS = 4
const PROBE_TICKS = 5
/** A statement that is at work for longer is asked about again after so many. */
const AGAIN_TICKS = 8

type Statement = { ticks: number; lose: (error: Error) => void }

/**
 * Tells a Postgres that is slow from one that cannot be reached. TCP alone takes minutes to notice that packets are
 * dropped, and a statement may be at work for 15 s. So when a statement has had no reply for a second, Postgres is asked
 * something on a new connection; if it stays silent, and answers no other statement meanwhile, all statements that wait are
 * lost.
 */
export class Watchdog {
  readonly #database_url: string
  readonly #running = new Set<Statement>()
  #timer: NodeJS.Timeout | undefined
  #probing: Promise<Health> | null = null
  #isSuspicious = false
  /** As the last probe found it. */
  isSilent = false
  /** By performance.now(): when Postgres last ran a statement, and when it was last found silent. */
  answered_at = performance.now()
  silent_at = Number.NEGATIVE_INFINITY

  constructor(database_url: string) {
    this.#database_url = database_url
  }

  /** Resolves or rejects with the statement, or rejects when Postgres has become silent over it. */
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

  /** False while Postgres is known to be silent: a new connection would only hang. */
  async mayConnect(): Promise<boolean> {
    return !this.isSilent || (await this.probe()) !== 'silent'
  }

  /** Asks Postgres; calls that come meanwhile share the answer. */
  probe(): Promise<Health> {
    const asked_at = performance.now()
    this.#probing ??= probe(this.#database_url).then(found => {
      this.#probing = null
      // Under load a new connection may take long, while those that are there get their answers.
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

/** Asks Postgres on a connection of its own. Takes 1.3 s at most. */
export async function probe(database_url: string): Promise<Health> {
  const client = new pg.Client({ connectionString: database_url, application_name: 'mailbrook probe' })
  client.on('error', () => {}) // it is told by what was waiting
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
    return sqlState(error) === null ? 'silent' : 'refuses'
  }
}

async function ticks(count: number, signal: AbortSignal): Promise<void> {
  for (let n = 0; n < count && !signal.aborted; n++) await sleep(TICK_MS)
}

/**
 * Closes a connection in an unknown state at once. By RST, which takes back what is not delivered yet: a statement that
 * reached Postgres only when the network is back would be run although its caller has been told otherwise.
 */
export function cutOff(client: pg.Client | pg.PoolClient): void {
  const stream = (client as pg.Client).connection.stream as Socket
  try {
    stream.resetAndDestroy()
  } catch {
    stream.destroy() // by TLS, which knows no RST
  }
}
