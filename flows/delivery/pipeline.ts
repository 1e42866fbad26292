import type { PrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { Tally } from '#lib/async/fair/tally.ts'
import { OUTAGE } from '#lib/log_repeats.ts'
import type { ClaimedDelivery, DeliveryResult } from '#sql/delivery/deliveries.ts'
import { CampaignPace } from './campaign_pace.ts'
import { decideUnsent, isBulk, isUnsendable, judgeError } from './decide_outcome.ts'
import { LaneFinder } from './find_lane.ts'
import type { PlayRecipient } from './play_recipient.ts'
import type { SendServices } from './send_queue.ts'
import { TransportQueues } from './transport_queues.ts'

/** Maximum number of deliveries that one process holds. */
export const CAPACITY = 1_000

type Dependencies = SendServices & {
  prepareMessage: PrepareMessage
  playRecipient: PlayRecipient
  /** Maximum bytes of large messages per pool of slots. */
  room?: number
  /** Called each time a delivery has ended or was set aside, so that there is room for another. */
  onRoom: () => void
}

const STOPPED: DeliveryResult = { outcome: 'released', reason: 'The worker stopped.' }

/** Prepares, sends and settles claimed deliveries. Each step is fair to destinations. */
export class Pipeline {
  /** One per claim, since a delivery whose lease was lost may be claimed again while it is in progress here. */
  readonly held = new Set<ClaimedDelivery>()
  readonly campaign_pace: CampaignPace
  readonly #deps: Dependencies
  readonly #lane_finder: LaneFinder
  /** By name of the pool of slots. */
  readonly #queues = new Map<string, TransportQueues>()
  readonly #stopping = new AbortController()
  /** Deliveries not being sent yet, by destination: all of them, and those that are not bulk mail. */
  readonly #unsent = { all: new Tally(), other: new Tally() }
  #idlers: (() => void)[] = []

  constructor(deps: Dependencies) {
    this.#deps = deps
    this.campaign_pace = new CampaignPace(deps.transport.concurrency)
    this.#lane_finder = new LaneFinder({
      ...deps,
      whyFull: (delivery, lane, isShared) => this.#whyFull(delivery, lane, isShared),
      onLane: (delivery, lane) => this.#queuesOf(delivery).push(delivery, lane),
      onResult: (delivery, result) => void this.#settleUnsent(delivery, result),
    })
  }

  /** Deliveries held that count against CAPACITY. */
  get load(): number {
    let load = 0
    for (const queues of this.#queues.values()) load += queues.load
    return load
  }

  /** Destinations with at least `count` deliveries waiting here, for which no mail, or only no bulk mail, is claimed. */
  busy(count: number): { busy_destinations: string[]; bulk_busy: string[] } {
    return { busy_destinations: this.#unsent.other.namesFrom(count), bulk_busy: this.#unsent.all.namesFrom(count) }
  }

  take(delivery: ClaimedDelivery): void {
    this.held.add(delivery)
    if (isBulk(delivery)) this.campaign_pace.take()
    this.#queuesOf(delivery).join(delivery)
    const result = decideUnsent(delivery, this.#deps.config)
    if (result) return void this.#settle(delivery, result)
    this.#countUnsent(delivery, 1)
    this.#lane_finder.take(delivery)
  }

  async idle(): Promise<void> {
    if (this.held.size > 0) await new Promise<void>(resolve => this.#idlers.push(resolve))
  }

  /** Gives back deliveries that have not passed their fence; `idle` waits for the others. */
  stop(): void {
    this.#stopping.abort()
    const unsent = this.#lane_finder.clear()
    for (const queues of this.#queues.values()) unsent.push(...queues.stop())
    for (const delivery of unsent) void this.#settleUnsent(delivery, STOPPED)
  }

  #queuesOf({ transport: wish }: ClaimedDelivery): TransportQueues {
    const { transport } = this.#deps
    const { name, slots } = transport.pool?.(wish) ?? { name: '', slots: transport.concurrency }
    const queues = this.#queues.get(name) ?? this.#open(slots)
    this.#queues.set(name, queues)
    return queues
  }

  #open(slots: number): TransportQueues {
    return new TransportQueues({
      ...this.#deps,
      slots,
      signal: this.#stopping.signal,
      onStart: delivery => this.#countUnsent(delivery, -1),
      onError: (error, delivery) => void this.#settleUnsent(delivery, this.#judge(error, delivery)),
      onAside: () => this.#deps.onRoom(),
      onResult: (delivery, result) => void this.#settle(delivery, result),
    })
  }

  /** Prevents a lane of several destinations, or one of several transports, from taking all the room. */
  #whyFull(delivery: ClaimedDelivery, lane: string, isShared: boolean): string | null {
    const queues = this.#queuesOf(delivery)
    const free = CAPACITY - this.load
    // A destination with its own lane needs no check: nothing is claimed for it while it has many.
    if (isShared && queues.count(lane) > free) return 'Other mail to the same receiver goes first.'
    if (this.#queues.size > 1 && queues.load > free) return 'Other mail by the same transport goes first.'
    return null
  }

  #countUnsent(delivery: ClaimedDelivery, by: 1 | -1): void {
    this.#unsent.all.add(delivery.destination, by)
    if (!isBulk(delivery)) this.#unsent.other.add(delivery.destination, by)
  }

  #judge(err: unknown, delivery: ClaimedDelivery): DeliveryResult {
    if (this.#stopping.signal.aborted) return STOPPED
    if (!isUnsendable(err)) this.#deps.log.error({ err, email_id: delivery.email_id }, 'an email could not be prepared')
    return judgeError(err, delivery)
  }

  #settleUnsent(delivery: ClaimedDelivery, result: DeliveryResult): Promise<void> {
    this.#countUnsent(delivery, -1)
    return this.#settle(delivery, result)
  }

  async #settle(delivery: ClaimedDelivery, result: DeliveryResult): Promise<void> {
    const { log, store, playRecipient } = this.#deps
    const [{ id: delivery_id }, { outcome }] = [delivery, result]
    try {
      const isSettled = await store.settle(delivery, result)
      // Often after an outage: Postgres has lost the claim, or we the answer to an earlier try.
      if (!isSettled) log.warn({ [OUTAGE]: true, delivery_id, outcome }, 'a result came after its lease was lost')
      else if (outcome === 'delivered') await playRecipient(delivery)
    } catch (error) {
      log.error({ err: error, delivery_id, outcome }, 'a result could not be stored')
    }
    this.held.delete(delivery)
    if (isBulk(delivery)) this.campaign_pace.leave()
    this.#queuesOf(delivery).leave(delivery)
    this.#deps.onRoom()
    if (this.held.size === 0) for (const resolve of this.#idlers.splice(0)) resolve()
  }
}
