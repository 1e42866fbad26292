import type { Config } from '../lib/config.ts'
import { letGo, type Outgoing, type Transport } from '../lib/deliver.ts'
import { Lanes } from '../lib/lanes.ts'
import type { Log } from '../lib/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { ClaimedDelivery } from '../sql/deliveries.ts'
import { decideUnsent, judge, judgeError, returnPath, type Verdict } from './attempt_delivery.ts'
import type { Ledger } from './ledger.ts'
import { LARGE, type PrepareMessage, type SenderDomain } from './prepare_message.ts'
import { Router } from './router.ts'
import { SharedMessages } from './shared_messages.ts'

/** Deliveries one process holds at the most. */
export const CAPACITY = 1_000

/** Messages that are composed ahead of a free connection. Large ones are bounded by their bytes instead. */
const PREPARED_AHEAD = 64

/** A message that is not composed by then may wait for a blob store that hangs. */
const SLOW_MS = 1_000

type Dependencies = {
  log: Log
  config: Config
  secrets: Secrets
  transport: Transport
  ledger: Ledger
  prepareMessage: PrepareMessage
  /** Bytes that large messages may take together. */
  room?: number
  /** Called each time a delivery has left. */
  onRoom: () => void
}

type Placed = { delivery: ClaimedDelivery; lane: string }
type Waiting = Placed & { sender: SenderDomain; message: Buffer; isParked: boolean }

const STOPPED: Verdict = { outcome: 'released', reason: 'The worker stopped.' }

/** The way of claimed deliveries through this process: prepared, sent, settled. Fair to destinations at each step. */
export class Pipeline {
  /** By claim: one whose lease was lost may still be on its way here when its delivery is claimed again. */
  readonly held = new Set<ClaimedDelivery>()
  readonly #deps: Dependencies
  readonly #router: Router
  readonly #toPrepare: Lanes<Placed>
  readonly #toSend: Lanes<Waiting>
  readonly #messages: SharedMessages
  readonly #stopping = new AbortController()
  /** Those being composed: a stop gives them back without waiting for what they wait for. */
  readonly #preparing = new Set<ClaimedDelivery>()
  /** How many of those held wait for the reply of a silent server. */
  #aside = 0
  /** Those that need their message no more. */
  readonly #left = new WeakSet<ClaimedDelivery>()
  /** By destination, how many are not being sent yet. */
  readonly #unsent = new Map<string, number>()
  #idlers: (() => void)[] = []

  constructor(deps: Dependencies) {
    this.#deps = deps
    const { transport } = deps
    this.#router = new Router({
      ...deps,
      // There is to be room for the mail of others.
      isFull: lane => this.#toPrepare.count(lane) > CAPACITY - this.load,
      onLane: (delivery, lane) => this.#place(delivery, lane),
      onVerdict: (delivery, verdict) => void this.#settleUnsent(delivery, verdict),
    })
    const share = (lane: string) => transport.share?.(lane) ?? null
    this.#toPrepare = new Lanes(PREPARED_AHEAD, share)
    this.#toSend = new Lanes(transport.concurrency, share)
    this.#messages = new SharedMessages(deps.prepareMessage, deps.room)
  }

  /** Deliveries held that count against CAPACITY. */
  get load(): number {
    return this.held.size - this.#aside
  }

  /** Destinations of which at least so many deliveries wait here. */
  busy(count: number): string[] {
    return [...this.#unsent].flatMap(([destination, unsent]) => (unsent >= count ? [destination] : []))
  }

  take(delivery: ClaimedDelivery): void {
    this.held.add(delivery)
    this.#messages.join(delivery)
    const verdict = decideUnsent(delivery, this.#deps.config)
    if (verdict) {
      void this.#settle(delivery, verdict)
      return
    }
    this.#unsent.set(delivery.destination, (this.#unsent.get(delivery.destination) ?? 0) + 1)
    this.#router.take(delivery)
  }

  async idle(): Promise<void> {
    if (this.held.size > 0) await new Promise<void>(resolve => this.#idlers.push(resolve))
  }

  /** Gives back what has not passed its fence; what has is waited for by `idle`. */
  stop(): void {
    this.#stopping.abort()
    this.#messages.stop()
    const placed = [...this.#toPrepare.clear(), ...this.#toSend.clear()].map(({ delivery }) => delivery)
    const unsent = [...this.#router.clear(), ...placed, ...this.#preparing]
    this.#preparing.clear()
    for (const delivery of unsent) void this.#settleUnsent(delivery, STOPPED)
  }

  #place(delivery: ClaimedDelivery, lane: string): void {
    this.#toPrepare.push(lane, { delivery, lane })
    this.#pump()
  }

  #pump(): void {
    // Many at a time: one query loads them all.
    if (this.#toPrepare.active <= PREPARED_AHEAD / 2) {
      for (let next = this.#toPrepare.take(); next; next = this.#toPrepare.take()) void this.#prepare(next)
    }
    for (let next = this.#toSend.take(); next; next = this.#toSend.take()) {
      this.#endPreparing(next)
      this.#leaveUnsent(next.delivery)
      void this.#send(next)
    }
  }

  async #prepare({ delivery, lane }: Placed): Promise<void> {
    let isParked = false
    // It may have to wait, for its files or for room, and other mail not for it.
    const park = () => {
      if (isParked) return
      isParked = true
      this.#toPrepare.park(lane)
      this.#pump()
    }
    const slow = setTimeout(park, SLOW_MS)
    this.#preparing.add(delivery)
    try {
      const prepared = await this.#messages.prepare(delivery, park)
      if (prepared.size > LARGE) park()
      const message = await this.#messages.compose(delivery, prepared)
      clearTimeout(slow)
      if (!this.#preparing.delete(delivery)) return // stopped meanwhile
      this.#toSend.push(lane, { delivery, lane, sender: prepared.sender, message, isParked })
    } catch (error) {
      clearTimeout(slow)
      if (!this.#preparing.delete(delivery)) return
      this.#endPreparing({ lane, isParked })
      void this.#settleUnsent(delivery, this.#judge(error, delivery))
    }
    this.#pump()
  }

  #endPreparing({ lane, isParked }: Pick<Waiting, 'lane' | 'isParked'>): void {
    if (isParked) this.#toPrepare.unpark(lane)
    else this.#toPrepare.free(lane)
  }

  #leaveUnsent({ destination }: ClaimedDelivery): void {
    const unsent = (this.#unsent.get(destination) ?? 0) - 1
    if (unsent > 0) this.#unsent.set(destination, unsent)
    else this.#unsent.delete(destination)
  }

  #judge(error: unknown, delivery: ClaimedDelivery): Verdict {
    if (this.#stopping.signal.aborted) return STOPPED
    this.#deps.log.error({ err: error, email_id: delivery.email_id }, 'an email could not be prepared')
    return judgeError(error, delivery)
  }

  async #send(waiting: Waiting): Promise<void> {
    const { log, config, transport } = this.#deps
    const { delivery, lane } = waiting
    let isAside = false
    const onSilence = () => {
      // As many as have a place, so that a kill never leaves more in doubt than twice the connections.
      if (this.#aside >= transport.concurrency) return false
      isAside = true
      for (const sent of [waiting, outgoing]) letGo(sent)
      this.#setAside(delivery, lane)
      return true
    }
    const outgoing = { ...this.#outgoing(waiting), onSilence }
    let verdict: Verdict
    try {
      verdict = judge(await transport.deliver(outgoing), delivery, config)
    } catch (error) {
      log.error({ err: error, delivery_id: delivery.id }, 'a transport failed')
      verdict = judgeError(error, delivery)
    }
    if (isAside) this.#endAside(lane)
    else this.#toSend.free(lane)
    this.#pump()
    await this.#settle(delivery, verdict)
  }

  #outgoing({ delivery, sender, message }: Waiting): Outgoing {
    const { config, secrets, ledger } = this.#deps
    const { signal } = this.#stopping
    return {
      account_id: delivery.account_id,
      delivery_id: delivery.id,
      mail_from: returnPath(delivery, sender, config, secrets),
      recipient: delivery.recipient,
      tls: sender.tls,
      transport: sender.transport,
      message,
      fence: async () => !signal.aborted && ledger.fence(delivery),
      signal,
    }
  }

  /** Its server may answer in ten minutes: until then others have its place. Its lease is extended as before. */
  #setAside(delivery: ClaimedDelivery, lane: string): void {
    this.#aside++
    this.#messages.leave(delivery)
    this.#left.add(delivery)
    this.#toSend.setAside(lane)
    this.#deps.ledger.setAside(delivery)
    this.#pump()
    this.#deps.onRoom()
  }

  #endAside(lane: string): void {
    this.#aside--
    this.#toSend.endAside(lane)
  }

  #settleUnsent(delivery: ClaimedDelivery, verdict: Verdict): Promise<void> {
    this.#leaveUnsent(delivery)
    return this.#settle(delivery, verdict)
  }

  async #settle(delivery: ClaimedDelivery, verdict: Verdict): Promise<void> {
    const { log, ledger } = this.#deps
    const { outcome } = verdict
    try {
      const isSettled = await ledger.settle(delivery, verdict)
      if (!isSettled) log.warn({ delivery_id: delivery.id, outcome }, 'a result came after its lease was lost')
    } catch (error) {
      log.error({ err: error, delivery_id: delivery.id, outcome }, 'a result is left to the sweep')
    }
    this.#forget(delivery)
  }

  #forget(delivery: ClaimedDelivery): void {
    this.held.delete(delivery)
    if (!this.#left.delete(delivery)) this.#messages.leave(delivery)
    this.#deps.onRoom()
    if (this.held.size === 0) for (const resolve of this.#idlers.splice(0)) resolve()
  }
}
