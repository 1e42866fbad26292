import type { Prepared } from '#flows/delivery/prepare/prepare_queue.ts'
import { FairQueue, type Share } from '#lib/async/fair_queue.ts'
import { Semaphore } from '#lib/async/semaphore.ts'
import type { Config } from '#lib/config.ts'
import { freeBytes, type Outgoing, type Transport } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { ClaimedDelivery, DeliveryResult } from '#sql/delivery/deliveries.ts'
import type { FenceRefusal } from '#sql/delivery/leases.ts'
import { CampaignSlots } from './campaign_pace.ts'
import { decideRefused, isBulk, judge, judgeError, returnPath } from './decide_outcome.ts'
import type { DeliveryStore } from './fence_and_settle.ts'

/** The services that sending needs. */
export type SendServices = {
  log: Log
  config: Config
  secrets: Secrets
  transport: Transport
  store: Pick<DeliveryStore, 'fence' | 'setAside' | 'settle'>
}

type Dependencies = SendServices & {
  /** Maximum number of deliveries sent at the same time. As many again may be set aside. */
  slots: number
  share: (lane: string) => Share | null
  signal: AbortSignal
  /** Called before a delivery is handed to the transport. */
  onStart: (prepared: Prepared) => void
  /**
   * Called when a delivery is set aside to wait for a silent server, up to ten minutes: its slot is free for others.
   */
  onAside: (delivery: ClaimedDelivery) => void
  onResult: (delivery: ClaimedDelivery, result: DeliveryResult) => void
}

/** Gives prepared deliveries to the transport as slots become free, in an order that is fair to lanes. */
export class SendQueue {
  readonly #deps: Dependencies
  readonly #queue: FairQueue<Prepared>
  readonly #campaign_slots: CampaignSlots
  /** Limits the deliveries between fence and result, without those set aside: a kill leaves these in doubt. */
  readonly #fenced: Semaphore
  #aside = 0

  constructor(deps: Dependencies) {
    this.#deps = deps
    this.#campaign_slots = new CampaignSlots(deps.slots)
    this.#queue = new FairQueue(deps.slots, deps.share, {
      isLater: ({ delivery }) => isBulk(delivery),
      laterSlots: () => this.#campaign_slots.count(),
    })
    this.#fenced = new Semaphore(deps.slots)
  }

  /** Number of deliveries set aside. */
  get aside(): number {
    return this.#aside
  }

  push(prepared: Prepared): void {
    if (!isBulk(prepared.delivery)) this.#campaign_slots.noteOtherMail()
    this.#queue.push(prepared.lane, prepared)
  }

  pump(): void {
    for (let next = this.#queue.take(); next; next = this.#queue.take()) {
      this.#deps.onStart(next)
      void this.#send(next)
    }
  }

  /** Removes and returns the deliveries that wait. */
  clear(): ClaimedDelivery[] {
    return this.#queue.clear().map(({ delivery }) => delivery)
  }

  async #send(prepared: Prepared): Promise<void> {
    const { log, config, transport, onResult } = this.#deps
    const { delivery, lane } = prepared
    let isAside = false
    const onSilence = () => {
      // Limited so that a kill leaves at most twice the slots in doubt.
      if (this.#aside >= this.#deps.slots) return false
      isAside = true
      freeBytes(prepared.message)
      this.#setAside(delivery, lane)
      return true
    }
    let refused: DeliveryResult | null = null
    const onRefused = (refusal: FenceRefusal) => {
      refused = decideRefused({ ...delivery, ...refusal }, config)
    }
    const outgoing = { ...this.#outgoing(prepared, onRefused), onSilence }
    let result: DeliveryResult
    try {
      const outcome = await transport.deliver(outgoing)
      result = refused ?? judge(outcome, delivery, config)
    } catch (error) {
      log.error({ err: error, delivery_id: delivery.id }, 'a transport failed')
      result = judgeError(error, delivery)
    }
    if (isAside) this.#endAside(lane)
    else this.#queue.free(lane)
    onResult(delivery, result)
  }

  #outgoing({ delivery, sender, message }: Prepared, onRefused: (refusal: FenceRefusal) => void): Outgoing {
    const { config, secrets, store, signal } = this.#deps
    const fence = async () => {
      if (signal.aborted) return false
      const answer = await store.fence(delivery, this.#fenced)
      if (typeof answer === 'object') onRefused(answer)
      return answer === 'allowed'
    }
    return {
      account_id: delivery.account_id,
      delivery_id: delivery.id,
      mail_from: returnPath(delivery, sender, config, secrets),
      recipient: delivery.recipient,
      tls: sender.tls,
      // The transport whose slot it holds, even if its domain has another transport by now.
      transport: delivery.transport,
      message,
      fence,
      signal,
    }
  }

  #setAside(delivery: ClaimedDelivery, lane: string): void {
    this.#aside++
    this.#queue.setAside(lane)
    this.#deps.store.setAside(delivery)
    this.#deps.onAside(delivery)
  }

  #endAside(lane: string): void {
    this.#aside--
    this.#queue.endAside(lane)
  }
}
