import type { Transport } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import type { ClaimedDelivery, DeliveryResult } from '#sql/delivery/deliveries.ts'
import { judgeError } from './decide_outcome.ts'

/** What finds its lane full comes back after this many seconds, or up to twice as many. */
const FULL_SECONDS = 3

type Dependencies = {
  log: Log
  transport: Transport
  /** Why this process may not hold one more of a lane, which several destinations may share; null: it may. */
  whyFull: (delivery: ClaimedDelivery, lane: string, isShared: boolean) => string | null
  onLane: (delivery: ClaimedDelivery, lane: string) => void
  /** It is not to go on. */
  onResult: (delivery: ClaimedDelivery, result: DeliveryResult) => void
}

/**
 * Finds the lane of each delivery before anything else is done for it. Names of strangers may have to be looked up, which
 * takes as long as they like, and holds nothing but the delivery itself.
 */
export class LaneFinder {
  readonly #deps: Dependencies
  readonly #waiting = new Set<ClaimedDelivery>()

  constructor(deps: Dependencies) {
    this.#deps = deps
  }

  take(delivery: ClaimedDelivery): void {
    if (this.#deps.transport.route) void this.#route(delivery)
    else this.#deps.onLane(delivery, delivery.destination)
  }

  /** Takes out everything that waits. */
  clear(): ClaimedDelivery[] {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    return waiting
  }

  async #route(delivery: ClaimedDelivery): Promise<void> {
    const { onLane, onResult } = this.#deps
    this.#waiting.add(delivery)
    const found = await this.#find(delivery)
    if (!this.#waiting.delete(delivery)) return // stopped meanwhile
    if (typeof found === 'string') onLane(delivery, found)
    else onResult(delivery, found)
  }

  /** Its lane, or why not now. */
  async #find(delivery: ClaimedDelivery): Promise<string | DeliveryResult> {
    const { log, transport, whyFull } = this.#deps
    try {
      const route = await transport.route?.(delivery.destination, delivery.transport)
      if (!route) return delivery.destination
      const { lane, isShared, wait } = route
      if (wait) return { outcome: 'released', ...wait }
      const reason = whyFull(delivery, lane, isShared)
      return reason ? { outcome: 'released', reason, delay: FULL_SECONDS * (1 + Math.random()) } : lane
    } catch (error) {
      log.error({ err: error, delivery_id: delivery.id }, 'a transport failed')
      return judgeError(error, delivery)
    }
  }
}
