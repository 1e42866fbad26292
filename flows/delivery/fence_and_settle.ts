import { retryUntil } from '#flows/process/retry_until.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import type { Semaphore } from '#lib/async/semaphore.ts'
import type { Log } from '#lib/log.ts'
import {
  type ClaimedDelivery,
  type DeliveryResult,
  type SettledDelivery,
  settleDeliveries,
  type Token,
} from '#sql/delivery/deliveries.ts'
import { type FenceRefusal, fenceDeliveries, fenceWatched } from '#sql/delivery/leases.ts'
import type { Pool } from '#sql/pool.ts'
import { splitOnRefusal } from '#sql/retry.ts'
import { isBulk } from './decide_outcome.ts'

type Fence = 'allowed' | 'lost' | FenceRefusal

/** A result to write; `happened_at`: by the monotonic clock, in ms. */
type Result = SettledDelivery & { happened_at: number }

/** Writes fences and results of the deliveries that a worker holds, many per commit. Each call resolves after its commit. */
export class DeliveryStore {
  readonly #pool: Pool
  readonly #lease_seconds: number
  readonly #gaveUp = new AbortController()
  /** Deliveries between fence and result, with the semaphore that they hold a place of. */
  readonly #fenced = new Map<Token, Semaphore>()
  readonly #settled = new WeakSet<Token>()
  /** When each message could be ended. */
  readonly #fenced_at = new WeakMap<Token, number>()
  readonly #writeFence: (token: Token) => Promise<Fence>
  readonly #writeWatchedFence: (token: Token) => Promise<Fence>
  readonly #writeResult: (result: Result) => Promise<boolean>

  /** `slots`: maximum number of deliveries that are sent at the same time. */
  constructor(pool: Pool, log: Log, { lease_seconds, slots }: { lease_seconds: number; slots: number }) {
    this.#pool = pool
    this.#lease_seconds = lease_seconds
    const together = { in_flight: 1, max_items: 100, interval_ms: 4 }
    this.#writeFence = coalesce(tokens => this.#fenceAll(tokens), together)
    this.#writeWatchedFence = coalesce(tokens => this.#fenceWatched(tokens), together)
    this.#writeResult = coalesce(
      results => retryUntil(this.#gaveUp.signal, log, 'results of deliveries', () => this.#settleEach(results)),
      // A statement costs about as much as ten results. Waiting results hold places, so at most half of all may wait.
      { in_flight: 1, max_items: 100, enough_items: Math.ceil(slots / 2), interval_ms: 24 },
    )
  }

  /**
   * Resolves to `allowed` if the final dot may be written, to `lost` if another worker may hold the delivery by now, or
   * to the reason why it may no longer be sent. First waits for one of `places`, which limit the deliveries between
   * fence and result, except those set aside; other mail goes before bulk mail. Each fenced token must be settled by the same object.
   */
  async fence(token: Token & Pick<ClaimedDelivery, 'is_watched' | 'priority'>, places: Semaphore): Promise<Fence> {
    await (isBulk(token) ? places.acquire() : places.acquireFirst())
    // It was settled while it waited, so nothing else would release the place.
    if (this.#settled.has(token)) {
      places.release()
      return 'lost'
    }
    this.#fenced.set(token, places)
    const fence = await (token.is_watched ? this.#writeWatchedFence(token) : this.#writeFence(token))
    this.#fenced_at.set(token, performance.now())
    return fence
  }

  /** Releases the place of a fenced delivery that waits for a very long time. It must still be settled. */
  setAside(token: Token): void {
    this.#fenced.get(token)?.release()
    this.#fenced.delete(token)
  }

  /**
   * Writes a result; retries until `giveUp` while Postgres is unavailable. Resolves to false if the token was out of
   * date.
   */
  async settle(token: ClaimedDelivery, result: DeliveryResult): Promise<boolean> {
    const { account_id, id, attempt, lease_owner, email_id } = token
    this.#settled.add(token)
    // A receiver whose reply did not come may have accepted the message at once.
    const sent_at = result.outcome === 'in_doubt' ? this.#fenced_at.get(token) : undefined
    const happened_at = sent_at ?? performance.now()
    try {
      return await this.#writeResult({ ...result, account_id, id, attempt, lease_owner, email_id, happened_at })
    } finally {
      // A place is released only here and not when a fence fails: the fence may have been written nevertheless.
      this.setAside(token)
    }
  }

  /** From now on, results that cannot be written are left to the sweep. */
  giveUp(): void {
    this.#gaveUp.abort()
  }

  async #fenceAll(tokens: Token[]): Promise<Fence[]> {
    const allowed = await fenceDeliveries(this.#pool, tokens, this.#lease_seconds)
    const owners = new Map(allowed.map(({ id, lease_owner }) => [id, lease_owner]))
    return tokens.map(({ id, lease_owner }) => (owners.get(id) === lease_owner ? 'allowed' : 'lost'))
  }

  async #fenceWatched(tokens: Token[]): Promise<Fence[]> {
    const rows = await fenceWatched(this.#pool, tokens, this.#lease_seconds)
    const found = new Map(rows.map(row => [row.id, row]))
    return tokens.map(({ id, lease_owner }) => {
      const row = found.get(id)
      if (row?.lease_owner !== lease_owner) return 'lost'
      return row.is_allowed ? 'allowed' : row
    })
  }

  #settleEach(results: Result[]): Promise<(boolean | Error)[]> {
    return splitOnRefusal(results, async some => {
      const now = performance.now()
      const aged = some.map(({ happened_at, ...result }) => ({ ...result, age: (now - happened_at) / 1000 }))
      const ids = new Set(await settleDeliveries(this.#pool, aged))
      return some.map(result => ids.has(result.id))
    })
  }
}
