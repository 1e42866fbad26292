import type { Share } from '#lib/async/fair_queue.ts'
import { TtlCache } from '#lib/async/ttl_cache.ts'

/** Connections to a provider that has not responded yet. Each reply adds one. */
const FIRST_CONNECTIONS = 4

const FIRST_PAUSE_MS = 30_000
const LONGEST_PAUSE_MS = 30 * 60_000

/** As many messages as the rate allows in this time may be sent at once. */
const BURST_MS = 10_000

/** Sums of times are not exact: without this, the last message of a burst, or the only one, would sometimes wait. */
const ROUNDING_MS = 0.001

/** Longest wait for a turn. Mail that waits because of the rate is looked at again after this time. */
const LONGEST_TURN_MS = 10 * 60_000

const REMEMBERED = 10_000
const REMEMBERED_MS = 6 * 3600_000

type Limit = {
  connections: number
  hasAnswered: boolean
  pause: number
  paused_until: number
  /** The messages sent so far use up the rate until this time. */
  used_until: number
  /** The last time that was given to a waiting message as its turn. */
  turns_until: number
}

type Options = { connections: number; per_minute: number; now?: () => number }

/** Why mail must wait, and for how many seconds. */
export type Delay = { reason: string; delay: number }

/**
 * Limits how much each provider gets at a time. The limit grows while the provider responds. If it asks us to slow down, the
 * limit is halved and no mail is sent during a pause, which doubles from 30 s to 30 min until the provider accepts mail again.
 */
export class ProviderLimits {
  readonly #limits: TtlCache<Limit>
  readonly #connections: number
  /** Milliseconds between two messages, for all workers together. */
  readonly #total_interval: number
  #interval: number
  readonly #now: () => number

  /** @param options most `connections`, messages `per_minute` of all workers together (0: no limit), a clock in ms */
  constructor({ connections, per_minute, now = () => performance.now() }: Options) {
    this.#limits = new TtlCache(REMEMBERED, now)
    this.#connections = connections
    this.#total_interval = per_minute > 0 ? 60_000 / per_minute : 0
    this.#interval = this.#total_interval
    this.#now = now
  }

  /** Divides the rate among this many processes, of which this one takes an equal part. */
  shareWith(workers: number): void {
    this.#interval = this.#total_interval * Math.max(1, workers)
  }

  share(provider: string): Share {
    const limit = this.#limits.get(provider)
    if (!limit) return { slots: Math.min(FIRST_CONNECTIONS, this.#connections), isProven: false }
    return { slots: limit.connections, isProven: limit.hasAnswered }
  }

  /** Returns the rest of the provider's pause, or null. Does not count against its rate. */
  pauseOf(provider: string): Delay | null {
    const rest = (this.#limits.get(provider)?.paused_until ?? 0) - this.#now()
    if (rest <= 0) return null
    // Spreads the retries after the pause.
    return { reason: `${provider} asked us to slow down.`, delay: (rest / 1000) * (1 + Math.random() / 4) }
  }

  /**
   * Returns `admit` for one message, which counts once per provider: otherwise a server that is down would use up the rate that
   * the next server of the provider needs.
   */
  admitMessage(): (provider: string) => Delay | null {
    const counted = new Set<string>()
    return provider => {
      if (counted.has(provider)) return this.pauseOf(provider)
      counted.add(provider)
      return this.admit(provider)
    }
  }

  /** Returns null if a message may be sent now, and counts it; otherwise the delay. */
  admit(provider: string): Delay | null {
    const pause = this.pauseOf(provider)
    if (pause || this.#interval === 0) return pause
    const now = this.#now()
    const limit = this.#limitOf(provider)
    const used = Math.max(limit.used_until - now, 0) + this.#interval
    const burst = Math.max(BURST_MS, this.#interval)
    if (used <= burst + ROUNDING_MS) {
      limit.used_until = now + used
      return null
    }
    // Waiting messages return one after the other.
    const next = Math.max(limit.turns_until + this.#interval, now + used - burst)
    limit.turns_until = Math.min(next, now + LONGEST_TURN_MS)
    return { reason: `The rate limit of ${provider} is reached.`, delay: (limit.turns_until - now) / 1000 }
  }

  /** Reports that the provider accepted a message, or refused one because of that message. */
  answered(provider: string): void {
    const limit = this.#limitOf(provider)
    limit.hasAnswered = true
    if (limit.paused_until > this.#now()) return // the reply belongs to a message sent before the pause
    limit.connections = Math.min(limit.connections + 1, this.#connections)
    limit.pause = Math.max(limit.pause / 2, FIRST_PAUSE_MS)
  }

  /** Reports that the provider did not reply or could not be reached. */
  failed(provider: string): void {
    const limit = this.#limitOf(provider)
    limit.hasAnswered = false
    limit.connections = Math.ceil(limit.connections / 2)
  }

  /** Reports that the provider asked us to slow down. Returns the seconds of the pause, or null if it was paused already. */
  throttled(provider: string): number | null {
    const now = this.#now()
    const limit = this.#limitOf(provider)
    if (limit.paused_until > now) return null
    const { pause } = limit
    limit.connections = Math.ceil(limit.connections / 2)
    limit.paused_until = now + pause
    limit.pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    return pause / 1000
  }

  #limitOf(provider: string): Limit {
    const limit = this.#limits.get(provider) ?? {
      connections: Math.min(FIRST_CONNECTIONS, this.#connections),
      hasAnswered: false,
      pause: FIRST_PAUSE_MS,
      paused_until: 0,
      used_until: 0,
      turns_until: 0,
    }
    this.#limits.set(provider, limit, REMEMBERED_MS)
    return limit
  }
}
