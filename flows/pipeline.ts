import type { Config } from '../lib/config.ts'
import type { Transport } from '../lib/deliver.ts'
import { Lanes } from '../lib/lanes.ts'
import type { Log } from '../lib/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { ClaimedDelivery } from '../sql/deliveries.ts'
import { decideUnsent, judge, judgeError, returnPath, type Verdict } from './attempt_delivery.ts'
import type { Ledger } from './ledger.ts'
import type { Prepared, PrepareMessage } from './prepare_message.ts'

/** Messages that are composed ahead of a free connection. */
const PREPARED_AHEAD = 64

type Dependencies = {
  log: Log
  config: Config
  secrets: Secrets
  transport: Transport
  ledger: Ledger
  prepareMessage: PrepareMessage
  /** Called each time a delivery has left. */
  onRoom: () => void
}

type Waiting = { delivery: ClaimedDelivery; prepared: Prepared }

/** The way of claimed deliveries through this process: prepared, sent, settled. Fair to destinations at each step. */
export class Pipeline {
  /** By claim: one whose lease was lost may still be on its way here when its delivery is claimed again. */
  readonly held = new Set<ClaimedDelivery>()
  readonly #deps: Dependencies
  readonly #toPrepare = new Lanes<ClaimedDelivery>(PREPARED_AHEAD)
  readonly #toSend: Lanes<Waiting>
  /** Recipients of one email share its message while any of them is held. */
  readonly #messages = new Map<string, { users: number; message: Promise<Prepared> | null }>()
  readonly #stopping = new AbortController()
  #idlers: (() => void)[] = []

  constructor(deps: Dependencies) {
    this.#deps = deps
    this.#toSend = new Lanes(deps.transport.concurrency)
  }

  /** Destinations that hold at least so many deliveries here. */
  busy(count: number): string[] {
    return this.#toPrepare.busy(count)
  }

  take(delivery: ClaimedDelivery): void {
    this.held.add(delivery)
    const shared = this.#messages.get(delivery.email_id)
    if (shared) shared.users++
    else this.#messages.set(delivery.email_id, { users: 1, message: null })

    const verdict = decideUnsent(delivery, this.#deps.config)
    if (verdict) {
      void this.#settle(delivery, verdict)
      return
    }
    this.#toPrepare.push(delivery.destination, delivery)
    this.#pump()
  }

  async idle(): Promise<void> {
    if (this.held.size > 0) await new Promise<void>(resolve => this.#idlers.push(resolve))
  }

  /** Gives back what has not passed its fence; what has is waited for by `idle`. */
  stop(): void {
    this.#stopping.abort()
    const waiting = [...this.#toPrepare.clear(), ...this.#toSend.clear().map(({ delivery }) => delivery)]
    for (const delivery of waiting) void this.#settle(delivery, { outcome: 'released', reason: 'The worker stopped.' })
  }

  #pump(): void {
    // Many at a time: one query loads them all.
    if (this.#toPrepare.active <= PREPARED_AHEAD / 2) {
      for (let next = this.#toPrepare.take(); next; next = this.#toPrepare.take()) void this.#prepare(next)
    }
    for (let next = this.#toSend.take(); next; next = this.#toSend.take()) {
      this.#toPrepare.free(next.delivery.destination)
      void this.#send(next)
    }
  }

  async #prepare(delivery: ClaimedDelivery): Promise<void> {
    try {
      const prepared = await this.#message(delivery)
      this.#toSend.push(delivery.destination, { delivery, prepared })
    } catch (error) {
      this.#deps.log.error({ err: error, email_id: delivery.email_id }, 'an email could not be prepared')
      this.#toPrepare.free(delivery.destination)
      void this.#settle(delivery, judgeError(error, delivery))
    }
    this.#pump()
  }

  #message({ account_id, email_id }: ClaimedDelivery): Promise<Prepared> {
    const shared = this.#messages.get(email_id)
    if (!shared) throw new Error(`email ${email_id} is not held`)
    shared.message ??= this.#deps.prepareMessage({ account_id, id: email_id })
    return shared.message
  }

  async #send({ delivery, prepared }: Waiting): Promise<void> {
    const { log, config, secrets, transport, ledger } = this.#deps
    const { signal } = this.#stopping
    let verdict: Verdict
    try {
      const outcome = await transport.deliver({
        account_id: delivery.account_id,
        delivery_id: delivery.id,
        mail_from: returnPath(delivery, prepared, config, secrets),
        recipient: delivery.recipient,
        message: prepared.message,
        fence: async () => !signal.aborted && ledger.fence(delivery),
        signal,
      })
      verdict = judge(outcome, delivery, config)
    } catch (error) {
      log.error({ err: error, delivery_id: delivery.id }, 'a transport failed')
      verdict = judgeError(error, delivery)
    }
    this.#toSend.free(delivery.destination)
    this.#pump()
    await this.#settle(delivery, verdict)
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
    const shared = this.#messages.get(delivery.email_id)
    if (shared && --shared.users === 0) this.#messages.delete(delivery.email_id)
    this.#deps.onRoom()
    if (this.held.size === 0) for (const resolve of this.#idlers.splice(0)) resolve()
  }
}
