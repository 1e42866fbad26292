import type { Socket } from 'node:net'
import pg from 'pg'
import { LostConnectionError } from './outage.ts'

/** Notifications about one id, from the moment when it is followed. */
export type Following = {
  /** Resolves once something was announced since the last call, or may have been missed, or after `ms`. */
  next(ms: number): Promise<void>
  end(): void
}

/**
 * An idle connection that is lost without a trace, for example because a NAT has forgotten it, is noticed a little
 * later than this; by default after two hours.
 */
const KEEP_ALIVE_MS = 60_000

/**
 * Receives notifications of ids (NOTIFY) on a separate connection, which the first `follow` opens. Nothing may depend
 * on them: connections are lost now and then, and behind some poolers LISTEN receives nothing.
 */
export class Listener {
  readonly #database_url: string
  readonly #channel: string
  readonly #onError: (error: Error) => void
  /** By id. */
  readonly #followers = new Map<string, () => void>()
  #connection: Promise<pg.Client | null> | null = null
  #isClosed = false

  /**
   * `onError`: called with the reason if nothing is received for a while; the next call of `follow` or `next`
   * reconnects.
   */
  constructor(database_url: string, channel: string, onError: (error: Error) => void) {
    this.#database_url = database_url
    this.#channel = channel
    this.#onError = onError
  }

  /**
   * Notifications sent after this resolves are received. It also resolves if Postgres is unavailable; then none are
   * received.
   */
  async follow(id: string): Promise<Following> {
    await this.#listen()
    return followOne(this.#followers, id, () => this.#listen())
  }

  /** Does not wait for a response of Postgres, which may never come: nothing is pending on the connection. */
  async close(): Promise<void> {
    this.#isClosed = true
    const client = await this.#connection
    if (!client) return
    const ended = client.end()
    ;(client.connection.stream as Socket).destroySoon() // after the message that ends the session
    await ended
  }

  async #listen(): Promise<void> {
    if (this.#isClosed) return
    this.#connection ??= this.#connect()
    await this.#connection
  }

  async #connect(): Promise<pg.Client | null> {
    const client = new pg.Client({
      connectionString: this.#database_url,
      connectionTimeoutMillis: 2_000,
      query_timeout: 2_000,
      application_name: 'mailbrook listener',
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    })
    let isLost = false
    const lose = (error: Error) => {
      if (isLost) return // an error may be emitted twice, and by then there is another connection
      isLost = true
      this.#lose(client, error)
    }
    client.on('error', lose)
    client.on('notification', ({ payload = '' }) => this.#followers.get(payload)?.())
    try {
      await client.connect()
      await client.query(`LISTEN ${client.escapeIdentifier(this.#channel)}`)
      this.#wakeAll() // notifications sent meanwhile were missed
      return client
    } catch (error) {
      lose(error as Error)
      return null
    }
  }

  #lose(client: pg.Client, error: Error): void {
    if (!this.#isClosed) this.#onError(new LostConnectionError(error))
    this.#connection = null
    client.end().catch(() => {}) // it is lost already
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wake of this.#followers.values()) wake()
  }
}

function followOne(followers: Map<string, () => void>, id: string, listen: () => Promise<void>): Following {
  let hasNews = false
  let resolveNext: (() => void) | null = null
  followers.set(id, () => {
    hasNews = true
    resolveNext?.()
  })
  return {
    async next(ms) {
      void listen()
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, hasNews ? 0 : ms)
        resolveNext = () => {
          clearTimeout(timer)
          resolve()
        }
        if (hasNews) resolveNext()
      })
      resolveNext = null
      hasNews = false
    },
    end: () => void followers.delete(id),
  }
}
