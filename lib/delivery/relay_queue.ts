import { STALL_MS } from '#lib/delivery/smtp/server.ts'

/** While no message has ended, a relay is stalled only after this many times `stall`: connecting takes longer than a reply. */
const CONNECT_STALLS = 5

/** The connections of one relay: how many are in use, and when anything last happened on them. */
export class RelayPlaces {
  readonly total: number
  readonly stall: number
  readonly #destinations = new Map<string, number>()
  #active = 0
  #ended = 0
  #moved_at = 0

  /** @param stall a relay with all connections in use is skipped after this many ms without a reply */
  constructor(total: number, stall: number = STALL_MS) {
    this.total = total
    this.stall = stall
  }

  /** Tells whether a connection is free for the destination, which may use at most half of them. */
  fits(destination: string): boolean {
    return this.#active < this.total && this.#of(destination) < Math.ceil(this.total / 2)
  }

  /** Returns the ms until the relay is stalled if nothing happens; 0 or less if it is stalled. */
  patience(): number {
    const patience = this.#ended > 0 ? this.stall : CONNECT_STALLS * this.stall
    return this.#moved_at + patience - performance.now()
  }

  take(destination: string): void {
    if (this.#active === 0) this.#moved_at = performance.now()
    this.#active++
    this.#destinations.set(destination, this.#of(destination) + 1)
  }

  /** Reports that a message was sent up to its final dot. */
  ended(): void {
    this.#ended++
    this.#moved_at = performance.now()
  }

  /** `isAnswered` is false for a message that was set aside without a reply. */
  free(destination: string, isEnded: boolean, isAnswered: boolean): void {
    this.#active--
    if (isEnded) this.#ended--
    if (isAnswered) this.#moved_at = performance.now()
    const left = this.#of(destination) - 1
    if (left > 0) this.#destinations.set(destination, left)
    else this.#destinations.delete(destination)
  }

  #of(destination: string): number {
    return this.#destinations.get(destination) ?? 0
  }
}

type HasPlaces = { places: RelayPlaces }
type Waiter<Relay> = { relays: readonly Relay[]; destination: string; resolve: (relay: Relay | null) => void }

/**
 * Messages that wait for a connection to one of several relays. The first relay gets all mail as long as it replies. If it is
 * stalled with all its connections in use, messages go to the next one.
 */
export class RelayQueue<Relay extends HasPlaces> {
  readonly #waiting = new Set<Waiter<Relay>>()
  #timer: NodeJS.Timeout | undefined

  /** Returns the relay on which a connection was taken, to be freed by `free`; null if the signal is aborted first. */
  async take(relays: readonly Relay[], destination: string, signal: AbortSignal): Promise<Relay | null> {
    return this.#takeNow(relays, destination) ?? this.#wait(relays, destination, signal)
  }

  free({ places }: Relay, destination: string, isEnded: boolean, isAnswered: boolean): void {
    places.free(destination, isEnded, isAnswered)
    this.#admit()
  }

  #takeNow(relays: readonly Relay[], destination: string): Relay | null {
    for (const relay of relays) {
      if (relay.places.fits(destination)) {
        relay.places.take(destination)
        return relay
      }
      if (relay.places.patience() > 0) return null
    }
    return null
  }

  #wait(relays: readonly Relay[], destination: string, signal: AbortSignal): Promise<Relay | null> {
    if (signal.aborted) return Promise.resolve(null)
    return new Promise(resolve => {
      const stop = () => {
        this.#waiting.delete(waiter)
        resolve(null)
        this.#lookAgain()
      }
      const waiter: Waiter<Relay> = {
        relays,
        destination,
        resolve: relay => {
          signal.removeEventListener('abort', stop)
          resolve(relay)
        },
      }
      signal.addEventListener('abort', stop)
      this.#waiting.add(waiter)
      this.#lookAgain()
    })
  }

  #admit(): void {
    for (const waiter of this.#waiting) {
      const relay = this.#takeNow(waiter.relays, waiter.destination)
      if (!relay) continue
      this.#waiting.delete(waiter)
      waiter.resolve(relay)
    }
    this.#lookAgain()
  }

  /**
   * Sets a timer for when the next relay may be stalled. It fires after at most `stall` ms, since that moment comes closer once a
   * message has ended.
   */
  #lookAgain(): void {
    if (this.#waiting.size === 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      return
    }
    if (this.#timer) return
    const moving = [...this.#waiting].flatMap(({ relays }) => relays.filter(({ places }) => places.patience() > 0))
    if (moving.length === 0) return
    const next = Math.min(...moving.map(({ places }) => Math.min(places.patience(), places.stall)))
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#admit()
    }, Math.max(next, 0) + 1)
  }
}
