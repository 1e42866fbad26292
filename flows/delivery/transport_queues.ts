import type { PrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { type Prepared, PrepareQueue } from '#flows/delivery/prepare/prepare_queue.ts'
import { SharedMessages } from '#flows/delivery/prepare/shared_messages.ts'
import type { ClaimedDelivery, DeliveryResult } from '#sql/delivery/deliveries.ts'
import { isBulk } from './decide_outcome.ts'
import { SendQueue, type SendServices } from './send_queue.ts'

type Dependencies = SendServices & {
  prepareMessage: PrepareMessage
  /** Maximum bytes of large messages. */
  room?: number
  /** Maximum number of deliveries sent at the same time. */
  slots: number
  signal: AbortSignal
  /** Called before a delivery is handed to the transport. */
  onStart: (delivery: ClaimedDelivery) => void
  /** Called if a delivery could not be prepared. */
  onError: (error: unknown, delivery: ClaimedDelivery) => void
  /** Called when a delivery has been set aside. */
  onAside: () => void
  onResult: (delivery: ClaimedDelivery, result: DeliveryResult) => void
}

/** The queues of one pool of slots: deliveries of one pool never wait for those of another. */
export class TransportQueues {
  readonly #messages: SharedMessages
  /** Bulk mail is prepared apart, so that other mail does not wait until it is sent. */
  readonly #prepare: Record<'bulk' | 'other', PrepareQueue>
  readonly #send: SendQueue
  /** Deliveries whose message is no longer needed. */
  readonly #left = new WeakSet<ClaimedDelivery>()
  #held = 0

  constructor(deps: Dependencies) {
    const { transport, prepareMessage, room, onStart, onError, onAside, onResult } = deps
    const share = (lane: string) => transport.share?.(lane) ?? null
    this.#messages = new SharedMessages(prepareMessage, room)
    const preparing = {
      ...{ messages: this.#messages, share, onError },
      onPrepared: (prepared: Prepared) => this.#send.push(prepared),
      onFree: () => this.#pump(),
    }
    this.#prepare = { bulk: new PrepareQueue(preparing), other: new PrepareQueue(preparing) }
    this.#send = new SendQueue({
      ...deps,
      share,
      onStart: prepared => {
        this.#prepareQueue(prepared.delivery).leave(prepared)
        onStart(prepared.delivery)
      },
      onAside: delivery => {
        this.#messages.leave(delivery)
        this.#left.add(delivery)
        this.#pump()
        onAside()
      },
      onResult: (delivery, result) => {
        this.#pump()
        onResult(delivery, result)
      },
    })
  }

  /** Number of deliveries held here, without those set aside. */
  get load(): number {
    return this.#held - this.#send.aside
  }

  /** Number of deliveries of a lane that are not being sent yet. */
  count(lane: string): number {
    return this.#prepare.bulk.count(lane) + this.#prepare.other.count(lane)
  }

  /** Holds a delivery, until `leave`. */
  join(delivery: ClaimedDelivery): void {
    this.#held++
    this.#messages.join(delivery)
  }

  leave(delivery: ClaimedDelivery): void {
    this.#held--
    if (!this.#left.delete(delivery)) this.#messages.leave(delivery)
  }

  push(delivery: ClaimedDelivery, lane: string): void {
    this.#prepareQueue(delivery).push({ delivery, lane })
    this.#pump()
  }

  /** Removes and returns the deliveries that are not being sent; composes none from now on. */
  stop(): ClaimedDelivery[] {
    this.#messages.stop()
    return [...this.#prepare.other.clear(), ...this.#prepare.bulk.clear(), ...this.#send.clear()]
  }

  #prepareQueue(delivery: ClaimedDelivery): PrepareQueue {
    return this.#prepare[isBulk(delivery) ? 'bulk' : 'other']
  }

  #pump(): void {
    this.#prepare.other.pump()
    this.#prepare.bulk.pump()
    this.#send.pump()
  }
}
