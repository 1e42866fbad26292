import { createFetchFiles } from '#flows/delivery/prepare/fetch_attachments.ts'
import { createPrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import type { Blobs } from '#flows/files/blobs.ts'
import { LeaseLoop, type LeaseTimes } from '#lib/async/lease_loop.ts'
import type { Config } from '#lib/config.ts'
import type { Transport } from '#lib/delivery/transport.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import type { Secrets } from '#lib/secrets.ts'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { extendLeases } from '#sql/delivery/leases.ts'
import type { Pool } from '#sql/pool.ts'
import { isBulk } from './decide_outcome.ts'
import { DeliveryStore } from './fence_and_settle.ts'
import { CAPACITY, Pipeline } from './pipeline.ts'
import { createPlayRecipient } from './play_recipient.ts'

/** Times of the delivery protocol; tests make them shorter. */
export type SenderTimes = LeaseTimes & {
  lease_seconds: number
  /** How long the keys of a domain are cached: the longest time until a new one is used. */
  keys_ms: number
}

export const SENDER_TIMES: SenderTimes = {
  lease_seconds: 40,
  heartbeat_ms: 10_000,
  poll_ms: 500,
  drain_ms: 120_000,
  keys_ms: 60_000,
}

/**
 * Maximum number of deliveries per claim. A destination with this many waiting is skipped, so a slow one never fills a quarter of
 * CAPACITY. Waiting mail of campaigns does not count for other mail, which is sent first.
 */
const CLAIM = 125

type Dependencies = {
  pool: Pool
  log: Log
  config: Config
  secrets: Secrets
  transport: Transport
  blobs: Blobs
  times?: SenderTimes
  /** Maximum bytes that large messages may take together. */
  room?: number
}

/**
 * Sends due mail: claims deliveries, holds them in memory by destination, and writes the result of each. A job only
 * announces new mail; after `start` it also polls for due mail.
 */
export class Sender extends LeaseLoop<string> {
  readonly #pool: Pool
  readonly #transport: Transport
  readonly #lease_seconds: number
  readonly #store: DeliveryStore
  readonly #pipeline: Pipeline
  /** Aborted once nothing more may be prepared. */
  readonly #stopped = new AbortController()
  /** Due mail may have been left for lack of room: it is claimed once no more than `#refill_at` deliveries are held. */
  #more = false
  #refill_at = 0

  constructor(deps: Dependencies) {
    const { pool, log, transport, blobs, times = SENDER_TIMES } = deps
    super(log, 'mail', times)
    this.#pool = pool
    this.#transport = transport
    this.#lease_seconds = times.lease_seconds
    this.#store = new DeliveryStore(pool, log, { lease_seconds: times.lease_seconds, slots: transport.concurrency })
    const fetchFiles = createFetchFiles({ ...deps, signal: this.#stopped.signal })
    const prepareMessage = createPrepareMessage({ ...deps, fetchFiles, readBlob: blobs.read, keys_ms: times.keys_ms })
    const playRecipient = createPlayRecipient({ ...deps, prepareMessage })
    const onRoom = () => this.#refill()
    this.#pipeline = new Pipeline({ ...deps, store: this.#store, prepareMessage, playRecipient, onRoom })
  }

  override idle(): Promise<void> {
    return this.#pipeline.idle()
  }

  protected override async claim(ids: string[] | null): Promise<void> {
    const limit = Math.min(CLAIM, CAPACITY - this.#pipeline.load)
    if (limit <= 0) {
      this.#more = true
      return
    }
    const lease = { lease_owner: newId(), lease_seconds: this.#lease_seconds }
    const { busy_destinations, bulk_busy } = this.#pipeline.busy(CLAIM)
    const max_campaigns = Math.min(this.#pipeline.campaign_pace.room(), limit)
    const options = { ...lease, limit, max_campaigns, email_ids: ids ?? undefined, busy_destinations, bulk_busy }
    const claimed = await claimDeliveries(this.#pool, options)
    for (const delivery of claimed) this.#pipeline.take(delivery)
    const isFull = claimed.length === limit || claimed.filter(isBulk).length >= max_campaigns
    this.#more = isFull || bulk_busy.length > 0 || (this.#more && ids !== null)
    this.#refill_at = Math.floor(this.#pipeline.load / 2)
  }

  #refill(): void {
    if (!this.#more || this.stopping.aborted || this.#pipeline.load > this.#refill_at) return
    this.#more = false
    this.look()
  }

  protected override async extendLeases(): Promise<void> {
    const tokens = [...this.#pipeline.held]
    if (tokens.length > 0) await extendLeases(this.#pool, tokens, this.#lease_seconds)
  }

  /** Gives back deliveries that have not passed their fence. */
  protected override giveBack(): void {
    this.#pipeline.stop()
    this.#stopped.abort()
  }

  /** A delivery that still waits for a reply is in doubt; each result is written with one last try. */
  protected override giveUp(): void {
    this.#transport.close()
    this.#store.giveUp()
  }
}
