import pg from 'pg'
import { LostConnectionError } from './outage.ts'

/** What is announced about one id, from the moment it is followed. */
export type Following = {
  /** Resolves once something was announced since the last call, or may have been and was missed; or after so many ms. */
  next(ms: number): Promise<void>
  end(): void
}

/** Hears announcements of ids (NOTIFY) on a connection of its own, made with the first need of it. */
export type Listener = {
  /** Announcements made after it answers are heard. It answers also when Postgres does not: then there are none. */
  follow(id: string): Promise<Following>
  close(): Promise<void>
}

/**
 * Nobody may rely on being told: a connection is lost now and then, and behind some poolers LISTEN hears nothing.
 * `onError` is told why it hears nothing for a while; the next call of `follow` or `next` connects again.
 */
export function createListener(database_url: string, channel: string, onError: (error: Error) => void): Listener {
  const followers = new Map<string, () => void>()
  let connection: Promise<pg.Client | null> | null = null
  let isClosed = false

  const wakeAll = () => {
    for (const wake of followers.values()) wake()
  }

  const connect = async (): Promise<pg.Client | null> => {
    const client = new pg.Client({
      connectionString: database_url,
      connectionTimeoutMillis: 2_000,
      query_timeout: 2_000,
      application_name: 'mailbrook listener',
      keepAlive: true,
    })
    let isLost = false
    const lose = (error: Error) => {
      if (isLost) return // it may tell so twice, and by then there is another one
      isLost = true
      if (!isClosed) onError(new LostConnectionError(error))
      connection = null
      client.end().catch(() => {}) // it is lost already
      wakeAll()
    }
    client.on('error', lose)
    client.on('notification', ({ payload = '' }) => followers.get(payload)?.())
    try {
      await client.connect()
      await client.query(`LISTEN ${client.escapeIdentifier(channel)}`)
      wakeAll() // what was announced meanwhile was not heard
      return client
    } catch (error) {
      lose(error as Error)
      return null
    }
  }

  const listen = async (): Promise<void> => {
    if (isClosed) return
    connection ??= connect()
    await connection
  }

  return {
    async follow(id) {
      await listen()
      return followOne(followers, id, listen)
    },
    async close() {
      isClosed = true
      const client = await connection
      await client?.end()
    },
  }
}

function followOne(followers: Map<string, () => void>, id: string, listen: () => Promise<void>): Following {
  let isNews = false
  let resolveNext: (() => void) | null = null
  followers.set(id, () => {
    isNews = true
    resolveNext?.()
  })
  return {
    async next(ms) {
      void listen()
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, isNews ? 0 : ms)
        resolveNext = () => {
          clearTimeout(timer)
          resolve()
        }
        if (isNews) resolveNext()
      })
      resolveNext = null
      isNews = false
    },
    end: () => void followers.delete(id),
  }
}
