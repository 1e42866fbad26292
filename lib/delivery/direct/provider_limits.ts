import type { Share } from '#lib/async/fair_queue.ts'
import { Memory } from '#lib/async/ttl_cache.ts'

/** Of connections to one that has not answered yet; each answer adds one. */
const FIRST_CONNECTIONS = 4

const FIRST_PAUSE_MS = 30_000
const LONGEST_PAUSE_MS = 30 * 60_000

/** What a rate allows in this time may go at once. */
const BURST_MS = 10_000

/** What waits for its turn by the rate is looked at again after this time at the latest. */
const LONGEST_TURN_MS = 10 * 60_000

const REMEMBERED = 10_000
const REMEMBERED_MS = 6 * 3600_000

type Limit = {
  connections: number
  hasAnswered: boolean
  pause: number
  paused_until: number
  /** When the rate has been used up to, and until when turns were given to those who had to wait. */
  used_until: number
  turns_until: number
}

type Options = { connections: number; per_minute: number; now?: () => number }

/** Why not now, and in how many seconds. */
export type Delay = { reason: string; delay: number }

/**
 * How much each provider gets at a time. More and more while it answers; half as much, and nothing for a while, when it
 * asks us to slow down; the pause doubles from 30 s to 30 min until it takes mail again.
 */
export class ProviderLimits {
  readonly #limits: Memory<Limit>
  readonly #connections: number
  /** Milliseconds from one message to the next, of all workers together. */
  readonly #interval_of_all: number
  #interval: number
  readonly #now: () => number

  /** @param options `connections` at the most, messages `per_minute` of all workers (0: any number), a clock in ms */
  constructor({ connections, per_minute, now = () => performance.now() }: Options) {
    this.#limits = new Memory(REMEMBERED, now)
    this.#connections = connections
    this.#interval_of_all = per_minute > 0 ? 60_000 / per_minute : 0
    this.#interval = this.#interval_of_all
    this.#now = now
  }

  /** The rate is that of so many processes together, of which this one takes an equal part. */
  shareWith(workers: number): void {
    this.#interval = this.#interval_of_all * Math.max(1, workers)
  }

  share(provider: string): Share {
    const limit = this.#limits.get(provider)
    if (!limit) return { slots: Math.min(FIRST_CONNECTIONS, this.#connections), isProven: false }
    return { slots: limit.connections, isProven: limit.hasAnswered }
  }

  /** Whether it is paused; takes nothing of its rate. */
  pauseOf(provider: string): Delay | null {
    const rest = (this.#limits.get(provider)?.paused_until ?? 0) - this.#now()
    if (rest <= 0) return null
    // Not all at once when it ends.
    return { reason: `${provider} asked us to slow down.`, delay: (rest / 1000) * (1 + Math.random() / 4) }
  }

  /** Null: one message may go now, and counts. */
  admit(provider: string): Delay | null {
    const pause = this.pauseOf(provider)
    if (pause || this.#interval === 0) return pause
    const now = this.#now()
    const limit = this.#limitOf(provider)
    const used_until = Math.max(limit.used_until, now) + this.#interval
    const burst = Math.max(BURST_MS, this.#interval)
    if (used_until - now <= burst) {
      limit.used_until = used_until
      return null
    }
    // Those who wait come back one after the other.
    const next = Math.max(limit.turns_until + this.#interval, used_until - burst)
    limit.turns_until = Math.min(next, now + LONGEST_TURN_MS)
    return { reason: `${provider} has had what it gets in a minute.`, delay: (limit.turns_until - now) / 1000 }
  }

  /** It took a message, or refused one for reasons of that message. */
  answered(provider: string): void {
    const limit = this.#limitOf(provider)
    limit.hasAnswered = true
    if (limit.paused_until > this.#now()) return // what was under way already
    limit.connections = Math.min(limit.connections + 1, this.#connections)
    limit.pause = Math.max(limit.pause / 2, FIRST_PAUSE_MS)
  }

  /** It was silent, or not there. */
  failed(provider: string): void {
    const limit = this.#limitOf(provider)
    limit.hasAnswered = false
    limit.connections = Math.ceil(limit.connections / 2)
  }

  /** It asked us to slow down. Answers for how many seconds it gets nothing, null when it was paused already. */
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
