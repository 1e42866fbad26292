import type { Share } from '#lib/async/fair_queue.ts'
import { FairQueue } from '#lib/async/fair_queue.ts'
import type { Message } from '#lib/delivery/transport.ts'
import type { ClaimedDelivery } from '#sql/delivery/deliveries.ts'
import { LARGE, type SenderDomain } from './prepare_message.ts'
import type { SharedMessages } from './shared_messages.ts'

/** Maximum number of messages composed ahead of a free connection. Large ones are limited by their bytes instead. */
const PREPARED_AHEAD = 64

/** A message that is not composed after this time is set apart: it may be waiting for a blob store that hangs. */
const SLOW_MS = 1_000

export type Placed = { delivery: ClaimedDelivery; lane: string }

/** A delivery whose message is composed. It holds its place here until `leave`. */
export type Prepared = Placed & { sender: SenderDomain; message: Message; isParked: boolean }

type Dependencies = {
  messages: SharedMessages
  share: (lane: string) => Share | null
  onPrepared: (prepared: Prepared) => void
  onError: (error: unknown, delivery: ClaimedDelivery) => void
  /** Called when places have become free. */
  onFree: () => void
}

/** Composes the messages of deliveries, some of them ahead of their connections, in an order that is fair to lanes. */
export class PrepareQueue {
  readonly #deps: Dependencies
  readonly #lanes: FairQueue<Placed>
  /** Deliveries whose messages are being composed. A stop gives them back without waiting for them. */
  readonly #preparing = new Set<ClaimedDelivery>()

  constructor(deps: Dependencies) {
    this.#deps = deps
    this.#lanes = new FairQueue(PREPARED_AHEAD, deps.share)
  }

  push(placed: Placed): void {
    this.#lanes.push(placed.lane, placed)
  }

  /** Deliveries of a lane that are not being sent yet. */
  count(lane: string): number {
    return this.#lanes.count(lane)
  }

  pump(): void {
    // Starts many at a time, so that one query loads them all.
    if (this.#lanes.active > PREPARED_AHEAD / 2) return
    for (let next = this.#lanes.take(); next; next = this.#lanes.take()) void this.#prepare(next)
  }

  /** Frees the place of a delivery that is being sent now, or will not be. */
  leave({ lane, isParked }: Pick<Prepared, 'lane' | 'isParked'>): void {
    if (isParked) this.#lanes.unpark(lane)
    else this.#lanes.free(lane)
  }

  /** Removes and returns all deliveries that wait or whose messages are being composed. */
  clear(): ClaimedDelivery[] {
    const cleared = [...this.#lanes.clear().map(({ delivery }) => delivery), ...this.#preparing]
    this.#preparing.clear()
    return cleared
  }

  async #prepare({ delivery, lane }: Placed): Promise<void> {
    const { messages, onPrepared, onError, onFree } = this.#deps
    let isParked = false
    // This message may have to wait for files or for room, and other mail must not wait for it.
    const park = () => {
      if (isParked) return
      isParked = true
      this.#lanes.park(lane)
      onFree()
    }
    const slow = setTimeout(park, SLOW_MS)
    this.#preparing.add(delivery)
    try {
      const prepared = await messages.prepare(delivery, park)
      if (prepared.size > LARGE) park()
      const bytes = await messages.compose(delivery, prepared)
      clearTimeout(slow)
      if (!this.#preparing.delete(delivery)) return // stopped meanwhile
      onPrepared({ delivery, lane, sender: prepared.sender, message: { bytes }, isParked })
    } catch (error) {
      clearTimeout(slow)
      if (!this.#preparing.delete(delivery)) return
      this.leave({ lane, isParked })
      onError(error, delivery)
    }
    onFree()
  }
}
