import type { Transport } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import type { ClaimedDelivery, DeliveryResult } from '#sql/delivery/deliveries.ts'
import { judgeError } from './decide_outcome.ts'

/** A delivery that finds its lane full is due again after one to two times this. */
const FULL_SECONDS = 3

type Dependencies = {
  log: Log
  transport: Transport
  /** Returns why this process may not hold one more delivery of a lane, or null if it may. */
  whyFull: (delivery: ClaimedDelivery, lane: string, isShared: boolean) => string | null
  onLane: (delivery: ClaimedDelivery, lane: string) => void
  /** Called with the result of a delivery that cannot be sent now. */
  onResult: (delivery: ClaimedDelivery, result: DeliveryResult) => void
}

/**
 * Finds the lane of each delivery before any other work on it. This may look up names in DNS, which can take as long as
 * their servers like; only the delivery itself is held meanwhile.
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

  /** Removes and returns the deliveries that wait for their lane. */
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

  /** Returns the lane, or the result if the delivery cannot be sent now. */
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
